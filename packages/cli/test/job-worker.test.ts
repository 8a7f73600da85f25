import { namesOf, organizationTopology, siteTopology, workerTopicOf, workerTopology } from '@muster/broker';
import { Leases } from '@muster/store';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Job } from '../../jobs/src/types.js';
import { leaseName } from '../../jobs/src/worker/tenure.js';
import { saveWorker, type WorkerState } from '../../jobs/src/worker/worker-rows.js';
import { type FrontServer, startFront } from '../../jobs/test/support/front-server.js';
import { run } from '../src/run.js';
import { timeText } from '../src/summary.js';
import { testWorld } from './support/world.js';

/** `muster worker list` and its like against a real server; the workers are rows, and hear what they are told. */

let server: FrontServer;
let token: string;
let heard: { worker: string; msgType: string; senderId: string; workerUuid: string }[] = [];

beforeAll(async () => {
  server = await startFront();
  await server.broker.declare(siteTopology());
  await server.broker.declare(organizationTopology('default'));
  await worker('w1', 'rack7', 'running');
  server.clock.advance(1000);
  await worker('w2', 'rack8', 'suspended');
  server.clock.advance(1000);
  await worker('w3', 'rack9', 'stopped');
  token = await server.token('admin');
});
afterAll(() => server.close());
beforeEach(() => {
  heard = [];
});

async function worker(uuid: string, name: string, state: WorkerState): Promise<void> {
  const { store, recorder, clock, org, broker } = server;
  const queue = `${namesOf('default').submitPrefix}DefaultQueue`;
  const row = { uuid, org_id: org.id, name, host: 'h1', queue, slots: 4, state, started: clock.now(), version: '1' };
  await saveWorker(recorder, 'default', row);
  if (state === 'stopped') return;
  await new Leases({ store, clock, holder: uuid }).acquire(leaseName(uuid), 600_000);
  await broker.declare(workerTopology('default', name, uuid));
  broker.consume(workerTopicOf('default', name), { slots: 1 }, async (delivery) => {
    heard.push({ worker: name, ...JSON.parse(delivery.body.toString()) });
    await delivery.ack();
  });
}

async function muster(line: string, as = token) {
  const env = { MUSTER_URL: server.url, MUSTER_ORG: 'default', MUSTER_TOKEN: as, NO_COLOR: '1' };
  const world = testWorld({ env, now: () => server.clock.now() });
  return { exit: await run(line.split(' '), world), out: world.out(), err: world.err() };
}

describe('muster worker list', () => {
  it('shows workers that run, with the jobs in their hands, the newest first', async () => {
    const job = (await server.jobs.find((await server.submit()).id)) as Job;
    await server.jobs.change(job, { to: 'PENDING', patch: { worker: 'w1', epoch: 1 } });
    const { exit, out, err } = await muster('worker list');
    expect([exit, err]).toEqual([0, '']);
    const rows = out
      .trimEnd()
      .split('\n')
      .map((line) => line.trim().split(/ {2,}/));
    expect(rows[0]).toEqual(['Worker', 'State', 'Queue', 'Jobs', 'Host', 'Started']);
    const started = (before: number) => timeText(new Date(server.clock.now() - before).toISOString());
    expect(rows.slice(1)).toEqual([
      ['rack8', 'suspended', 'DefaultQueue', '0 of 4', 'h1', started(1000)],
      ['rack7', 'running', 'DefaultQueue', '1 of 4', 'h1', started(2000)],
    ]);
  });

  it('shows those that have ended with --all, and what the server says with --json', async () => {
    const { exit, out } = await muster('worker list --all --json');
    expect(exit).toBe(0);
    expect(JSON.parse(out)).toMatchObject([
      { id: 'w3', name: 'rack9', state: 'stopped' },
      { id: 'w2', name: 'rack8', state: 'suspended' },
      { id: 'w1', name: 'rack7', state: 'running', queue: 'aloe.jobq.default.submit.DefaultQueue', slots: 4 },
    ]);
    expect(JSON.parse((await muster('worker list --json')).out)).toHaveLength(2);
  });

  it('says what to do where none runs', async () => {
    const idle = await startFront();
    try {
      const env = { MUSTER_URL: idle.url, MUSTER_ORG: 'default', MUSTER_TOKEN: await idle.token('admin') };
      const world = testWorld({ env });
      expect(await run(['worker', 'list'], world)).toBe(0);
      expect(world.err()).toBe('no worker runs: a server with --no-workers needs `muster worker`\n');
    } finally {
      await idle.close();
    }
  });

  it('is for administrators', async () => {
    expect((await muster('worker list', await server.token('jdoe'))).exit).toBe(3);
  });
});

describe.each([
  ['quiesce', 'WKR_SHUTDOWN_QUIESCE'],
  ['suspend', 'WKR_SUSPEND'],
  ['resume', 'WKR_RESUME'],
  ['shutdown', 'WKR_SHUTDOWN'],
])('muster worker %s', (action, msgType) => {
  it('tells a worker by its name, and says so', async () => {
    expect(await muster(`worker ${action} rack7`)).toEqual({ exit: 0, out: 'told rack7\n', err: '' });
    await expect.poll(() => heard).toHaveLength(1);
    expect(heard).toMatchObject([{ worker: 'rack7', msgType, senderId: 'admin', workerUuid: 'w1' }]);
  });

  it('tells several, also by id, and names them with --json', async () => {
    const { exit, out, err } = await muster(`worker ${action} rack7 w2 --json`);
    expect([exit, err, JSON.parse(out)]).toEqual([0, '', { told: ['rack7', 'w2'] }]);
    await expect.poll(() => heard).toHaveLength(2);
    const told = heard.map((one) => [one.worker, one.msgType]).toSorted();
    expect(told).toEqual([
      ['rack7', msgType],
      ['rack8', msgType],
    ]);
  });

  it('knows no worker of that name', async () => {
    const { exit, out, err } = await muster(`worker ${action} nobody`);
    expect([exit, out]).toEqual([4, '']);
    expect(err).toContain('nobody');
    expect(heard).toEqual([]);
  });

  it('wants a worker, and administrators', async () => {
    expect((await muster(`worker ${action}`)).exit).toBe(2);
    expect((await muster(`worker ${action} rack7`, await server.token('jdoe'))).exit).toBe(3);
    expect(heard).toEqual([]);
  });
});
