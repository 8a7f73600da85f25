import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../packages/platform/test/support/database.js';
import { Cluster } from './support/cluster.js';
import { HeldCommand } from './support/held-command.js';
import { until } from './support/until.js';

/**
 * The machine of the server is lost, and yesterday's copy is put back as docs/guide/operating.md says. Agents have lived on: they did
 * work, and enrolled, of which the copy knows nothing.
 */

let cluster: Cluster;
let database: TestDatabase;
let held: HeldCommand;
let backup: string;

beforeAll(async () => {
  database = await createTestDatabase();
  // A node that is silent for less than six seconds is not lost yet.
  cluster = await Cluster.start({ database, heartbeatInterval: 2 });
  backup = join(cluster.dir, 'backup');
  held = new HeldCommand(cluster.dir, 'held');
  const commands = { held: held.entry, quick: 'true' };
  await cluster.startAgents({ a: { commands }, b: { commands } });
});
afterAll(() => cluster.stop());

const store = (): string => join(cluster.dataDir, 'muster.db');

/** While the server runs. */
async function copied(): Promise<void> {
  mkdirSync(backup);
  if (database.url === undefined) {
    const source = new Database(store(), { readonly: true });
    await source.backup(join(backup, 'muster.db'));
    source.close();
  } else {
    await withDatabase('pg_dump', ['--clean', '--if-exists', '--file', join(backup, 'muster.sql'), database.url]);
  }
  const kept = readdirSync(cluster.dataDir).filter((name) => /\.pem$|\.key$|^muster\.yaml$|^server-keys/.test(name));
  for (const name of kept) copyFileSync(join(cluster.dataDir, name), join(backup, name));
}

/** Other tests may have all connections that PostgreSQL gives. */
function withDatabase(program: string, args: readonly string[]): Promise<Buffer> {
  return until(`${program} to succeed`, () => execFileSync(program, args));
}

async function restored(): Promise<void> {
  rmSync(cluster.dataDir, { recursive: true });
  mkdirSync(cluster.dataDir);
  for (const name of readdirSync(backup)) {
    if (name !== 'muster.sql') copyFileSync(join(backup, name), join(cluster.dataDir, name));
  }
  if (database.url !== undefined) {
    const options = ['--quiet', '--set', 'ON_ERROR_STOP=1', '--single-transaction'];
    await withDatabase('psql', [...options, '--file', join(backup, 'muster.sql'), database.url]);
  }
}

test('after yesterday’s copy is put back, nodes return by themselves, jobs of then end, nothing runs twice, and what came later enrols again', async () => {
  const before = await cluster.startJob({ command: 'quick', nodes: ['a', 'b'] });
  const ended = await cluster.jobIs(before, 'complete');
  const running = await cluster.startJob({ command: 'held', nodes: ['a'] });
  await cluster.nodeIs(running, 'a', 'running');
  await until('the command to run', () => held.runs.length === 1);
  await copied();

  // What the copy does not know: an end, a job, a node.
  held.release();
  await cluster.jobIs(running, 'complete');
  const after = await cluster.startJob({ command: 'quick', nodes: ['b'] });
  await cluster.jobIs(after, 'complete');
  await cluster.startAgents({ c: { commands: { quick: 'true' } } });

  await cluster.killServer('SIGKILL');
  await restored();
  await cluster.restartServer();

  await cluster.available('a', 'b');
  expect(await cluster.job(before)).toEqual(ended);
  expect((await cluster.api.get(`pushy/jobs/${after}`)).status).toBe(404);
  // Its agent tells again how it ended.
  expect((await cluster.jobIs(running, 'complete')).nodes.succeeded).toEqual(['a']);
  expect(held.runs).toEqual(['a']);
  const next = await cluster.startJob({ command: 'quick', nodes: ['a', 'b'] });
  expect([...((await cluster.jobIs(next, 'complete')).nodes.succeeded ?? [])].sort()).toEqual(['a', 'b']);

  expect(await cluster.nodeState('c')).toBeUndefined();
  await cluster.agent('c').kill('SIGTERM');
  cluster.launchAgent('c', await cluster.enrolToken(1));
  await cluster.available('c');
  const last = await cluster.startJob({ command: 'quick', nodes: ['c'] });
  expect((await cluster.jobIs(last, 'complete')).nodes.succeeded).toEqual(['c']);
  expect(cluster.harm()).toEqual([]);
});
