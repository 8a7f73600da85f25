import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ScratchNode, scratchNode } from '../packages/broker/test/scratch-node.js';
import { Cluster } from './support/cluster.js';
import type { Job } from './support/jobs.js';
import { neverHarmed } from './support/unharmed.js';

/**
 * Jobs that take five times as long as the broker lets anybody hold a message, with everything else as it is by default. `npm run
 * holds` does the same with a minute and five.
 */
const JOB_MS = Number(process.env.MUSTER_TEST_HOLD_MS ?? 15_000);
const TIMEOUT_MS = JOB_MS / 5;
const JOBS = 3;

let node: ScratchNode;
let cluster: Cluster;
beforeAll(async () => {
  node = await scratchNode({ consumer_timeout: TIMEOUT_MS, channel_tick_interval: Math.min(TIMEOUT_MS / 2, 60_000) });
  cluster = await Cluster.start({ flags: ['--broker-url', node.url] });
});
neverHarmed(() => cluster);
afterAll(async () => {
  await cluster?.stop();
  await node.drop();
});

test('a job is neither run twice nor disturbed, however soon the broker takes its message back', {
  timeout: 2 * JOB_MS + 120_000,
}, async () => {
  const at = (name: string): string => join(cluster.dir, name);
  mkdirSync(at('work'));
  const app = {
    name: 'long',
    version: '1.0',
    template: `echo "$MUSTER_JOB" >> '${at('runs')}'\nsleep ${JOB_MS / 1000}\necho over\n`,
  };
  writeFileSync(at('long.json'), JSON.stringify(app));
  await cluster.muster('system', 'create', 'here', '--type', 'local', '--root', at('work'), '--default');
  await cluster.muster('app', 'create', '--file', at('long.json'));
  const jobs = await Promise.all(
    Array.from({ length: JOBS }, () => cluster.json<Job>('job', 'run', 'long-1.0', '--wait')),
  );
  expect(jobs.map(({ status }) => status)).toEqual(jobs.map(() => 'FINISHED'));
  expect(readFileSync(at('runs'), 'utf8').trim().split('\n').sort()).toEqual(jobs.map(({ id }) => id).sort());
  for (const { id } of jobs) {
    const history = await cluster.json<readonly { readonly status: string }[]>('job', 'history', id);
    const statuses = history.map(({ status }) => status);
    expect(new Set(statuses).size, statuses.join(' ')).toBe(statuses.length);
  }
  // The broker has said once how long it waits, and nothing was late from then on.
  const closed = cluster.server.log.split('\n').filter((line) => line.includes('delivery acknowledgement'));
  expect(closed.length, closed.join('\n')).toBeLessThanOrEqual(2);
  expect(cluster.server.log).toContain('renewed in time from now on');
});
