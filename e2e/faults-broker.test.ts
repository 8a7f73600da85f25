import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { CLOSE_ALL_CHANNELS, type ScratchNode, scratchNode } from '../packages/broker/test/scratch-node.js';
import type { Reply } from './support/api-client.js';
import { Cluster } from './support/cluster.js';
import { type Job, jobComesTo, timesRun } from './support/jobs.js';
import { neverHarmed } from './support/unharmed.js';
import { until } from './support/until.js';

/** What a RabbitMQ goes through while jobs run: none of them waits for it, and none is half taken. */
let node: ScratchNode;
let cluster: Cluster;
/** Of the test: jobs are named after it. */
let round = 0;
const nameOf = (what: string): string => `${what}-${round}`;
const at = (name: string): string => join(cluster.dir, name);

beforeAll(async () => {
  node = await scratchNode();
  cluster = await Cluster.start({ flags: ['--broker-url', node.url] });
  mkdirSync(at('work'));
  const template = `echo "$MUSTER_JOB" >> '${at('runs')}'\nuntil test -f '${at('go')}'; do sleep 0.2; done\n`;
  writeFileSync(at('waits.json'), JSON.stringify({ name: 'waits', version: '1.0', template }));
  await cluster.muster('system', 'create', 'here', '--type', 'local', '--root', at('work'), '--default');
  await cluster.muster('app', 'create', '--file', at('waits.json'));
});
beforeEach(() => {
  round += 1;
  rmSync(at('go'), { force: true });
});
neverHarmed(() => cluster);
afterAll(async () => {
  await cluster?.stop();
  await node?.drop();
});

/** Its id; null: it was refused, as it should be. */
async function submit(name: string): Promise<string | null> {
  const reply: Reply = await cluster.api.post('jobs/v2', { appId: 'waits-1.0', name: nameOf(name), archive: false });
  if (reply.status === 201) return (reply.json as { readonly result: Job }).result.id;
  expect(reply.status, reply.text).toBe(503);
  expect(reply.headers['retry-after']).toMatch(/^\d+$/);
  expect(reply.text).toContain('JOBS_QUEUE_POST_ERROR');
  return null;
}

/** Asked for until it is taken. */
const taken = (name: string): Promise<string> => until(`${nameOf(name)} to be taken`, () => submit(name));

async function expectRunOnce(id: string): Promise<void> {
  await jobComesTo(cluster, id, 'FINISHED');
  expect(timesRun(at('runs'), id)).toBe(1);
  const history = await cluster.api.get(`jobs/v2/${id}/history`);
  const { result } = history.json as { readonly result: readonly { readonly status: string }[] };
  const statuses = result.map(({ status }) => status);
  expect(new Set(statuses).size, statuses.join(' ')).toBe(statuses.length);
}

/** No message is left, and there are no jobs but these: what was refused is none, though its message may have been stored. */
async function expectOnly(ids: readonly string[]): Promise<void> {
  // Nobody reads the topic of events here.
  const left = async () =>
    (await node.ctl('list_queues', 'name', 'messages')).split('\n').filter((line) => /\.submit\..*\t[1-9]/.test(line));
  await until('every message to be gone', async () => (await left()).length === 0);
  const jobs = await cluster.json<readonly Job[]>('job', 'list', `name:*-${round}`, '--limit', '100');
  expect(jobs.map(({ id }) => id).sort()).toEqual([...ids].sort());
}

test.each([
  ['is stopped', ['stop_app'], ['start_app']],
  ['has an alarm for its disk', ['set_disk_free_limit', '999999GB'], ['set_disk_free_limit', '50MB']],
])('while RabbitMQ %s a job goes on to its end, and none is taken', { timeout: 300_000 }, async (_, begin, end) => {
  const first = await taken('first');
  await jobComesTo(cluster, first, 'RUNNING');
  await node.ctl(...begin);
  try {
    expect([await submit('refused'), await submit('refused')]).toEqual([null, null]);
    writeFileSync(at('go'), '');
    await expectRunOnce(first);
  } finally {
    await node.ctl(...end);
  }
  const next = await taken('next');
  await expectRunOnce(next);
  await expectRunOnce(first);
  await expectOnly([first, next]);
});

test('while all channels are closed by force jobs go on, and what is submitted is taken or refused', {
  timeout: 300_000,
}, async () => {
  const jobs = [await taken('first')];
  await jobComesTo(cluster, `${jobs[0]}`, 'RUNNING');
  for (let time = 0; time < 2; time++) {
    const submitting = Promise.all([submit('meanwhile'), submit('meanwhile')]);
    await node.ctl('eval', CLOSE_ALL_CHANNELS);
    jobs.push(...(await submitting).filter((id) => id !== null), await taken('after'));
  }
  writeFileSync(at('go'), '');
  for (const id of jobs) await expectRunOnce(id);
  await expectOnly(jobs);
});
