import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as moment } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';
import { neverHarmed } from './support/unharmed.js';
import { until } from './support/until.js';

/**
 * The server is restarted while commands write and end, at the default heartbeat interval: nodes come back tens of
 * seconds later, which shorter intervals would hide.
 */
const DEFAULT_HEARTBEAT_SECONDS = 15;
const NAMES = ['a', 'b', 'c', 'd'];
/** How long there is no server: nodes still take it for online, for less than three intervals have passed. */
const AWAY_MS = 20_000;
const PATIENCE_MS = 150_000;
const LINES = 20_000;

let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.start({ heartbeatInterval: DEFAULT_HEARTBEAT_SECONDS });
  // It writes once before the server goes, and all the rest and its end while there is none.
  const shell = [
    'echo begun',
    `until [ -e "$1/go" ]; do sleep 0.1; done`,
    `seq ${LINES}`,
    'echo problem >&2',
    'touch "$1/ended-$MUSTER_NODE_NAME"',
  ].join('; ');
  await cluster.startAgents(
    Object.fromEntries(NAMES.map((name) => [name, { commands: { '/write (.+)/': { shell } } }])),
  );
});
neverHarmed(() => cluster);
afterAll(() => cluster.stop());

test.each(['SIGKILL', 'SIGTERM'] as const)(
  'what commands wrote, and ended with, while the server was away after %s is there once it is back',
  async (signal) => {
    const dir = join(cluster.dir, signal);
    mkdirSync(dir);
    const id = await cluster.startJob({ command: `write ${dir}`, nodes: NAMES, capture_output: true });
    await until('all to run', async () => (await cluster.job(id)).nodes.running?.length === NAMES.length, PATIENCE_MS);
    await cluster.killServer(signal);
    writeFileSync(join(dir, 'go'), '');
    await until('all to end', async () => NAMES.every((name) => existsSync(join(dir, `ended-${name}`))));
    await moment(AWAY_MS);
    await cluster.restartServer();
    const job = await cluster.jobEnds(id, PATIENCE_MS);
    expect([...(job.nodes.succeeded ?? [])].sort()).toEqual(NAMES);

    const whole = ['begun', ...Array.from({ length: LINES }, (_, n) => n + 1), ''].join('\n');
    for (const name of NAMES) {
      const read = (stream: string) =>
        cluster.api.get(`pushy/jobs/${id}/output/${name}/${stream}`, { accept: 'application/octet-stream' });
      const stdout = await read('stdout');
      expect(stdout.headers).toMatchObject({ 'x-muster-complete': 'true', 'x-muster-dropped-bytes': '0' });
      expect(stdout.text === whole, `stdout of ${name}: ${stdout.text.length} of ${whole.length} bytes`).toBe(true);
      expect((await read('stderr')).text).toBe('problem\n');
    }
    await cluster.available(...NAMES);
  },
  2 * PATIENCE_MS,
);
