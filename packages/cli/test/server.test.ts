import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { testWorld } from './support/world.js';

const directory = mkdtempSync(join(tmpdir(), 'muster-cli-server-'));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate);
}

test('a server that cannot go on ends with exit code 1 and says why', async () => {
  const world = testWorld();
  const any = 'tcp://127.0.0.1:0';
  const listen = ['--http', '127.0.0.1:0', '--heartbeat', any, '--command', any, '--stomp', '127.0.0.1:0'];
  const serving = run(['server', '--data-dir', directory, '--log-level', 'silent', ...listen], world);
  await until(() => world.err().includes('First start'));
  const database = new Database(join(directory, 'muster.db'));
  database.exec(`create trigger fault before insert on nodes begin select raise(abort, 'no such luck'); end`);
  database.close();
  const config = join(directory, 'muster.yaml');
  expect(existsSync(config)).toBe(true);
  const create = ['node', 'create', 'n1', '--key-out', join(directory, 'n1.pem'), '--config', config];
  expect(await run(create, testWorld())).toBe(0);
  expect(await serving).toBe(1);
  expect(world.err()).toMatch(/^error: the server cannot go on: .+ \(no such luck\)\nfix: .+\n$/m);
});
