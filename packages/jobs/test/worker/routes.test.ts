import type { Clock } from '@muster/base';
import { organizationTopology, siteTopology, workerTopicOf, workerTopology } from '@muster/broker';
import { Leases } from '@muster/store';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LIMITS } from '../../src/worker/limits.js';
import { leaseName } from '../../src/worker/tenure.js';
import type { WorkerState } from '../../src/worker/worker-rows.js';
import { type FrontServer, startFront } from '../support/front-server.js';
import { addWorker } from '../support/worker-rows.js';

/** Who works on jobs, as administrators see and tell them; the workers themselves are rows here. */

const AT = '/organizations/default/job-workers';
let server: FrontServer;
const heard: unknown[] = [];

beforeAll(async () => {
  server = await startFront();
  const { broker } = server;
  await broker.declare(siteTopology());
  await broker.declare(organizationTopology('default'));
  await worker('w1', 'rack7', 'running', true);
  await worker('w2', 'rack8', 'suspended', true);
  await worker('w3', 'rack9', 'running', false);
  await worker('w4', 'rack0', 'stopped', false);
  await broker.declare(workerTopology('default', 'rack7', 'w1'));
  broker.consume(workerTopicOf('default', 'rack7'), { slots: 1 }, async (delivery) => {
    heard.push(JSON.parse(delivery.body.toString()));
    await delivery.ack();
  });
});
afterAll(() => server.close());

const worker = (uuid: string, name: string, state: WorkerState, holds: boolean): Promise<void> =>
  addWorker(server, { uuid, name, state }, holds);

const list = async (query = '') => (await server.send({ at: `${AT}${query}`, as: 'admin' })).body;

it('workers that run are listed with the jobs in their hands', async () => {
  const { id } = await server.submit();
  const job = (await server.jobs.find(id)) ?? expect.fail('it is not there');
  await server.jobs.change(job, { to: 'PENDING', patch: { worker: 'w1', epoch: 1 } } as never);
  expect(await list()).toMatchObject([
    { id: 'w1', name: 'rack7', state: 'running', slots: 4, jobs: 1 },
    { id: 'w2', name: 'rack8', state: 'suspended', jobs: 0 },
  ]);
  const all = await list('?all=true');
  expect(all.map(({ name, state }: { name: string; state: string }) => [name, state])).toEqual([
    ['rack0', 'stopped'],
    ['rack7', 'running'],
    ['rack8', 'suspended'],
    ['rack9', 'lost'],
  ]);
});

it('a worker is told by its name or its id, and it alone', async () => {
  const told = await server.send({ method: 'POST', at: `${AT}/rack7/quiesce`, as: 'admin', body: {} });
  expect([told.status, told.body]).toEqual([202, { id: 'w1' }]);
  await expect.poll(() => heard).toMatchObject([{ msgType: 'WKR_SHUTDOWN_QUIESCE', workerUuid: 'w1' }]);
  expect((await server.send({ method: 'POST', at: `${AT}/nobody/resume`, as: 'admin', body: {} })).status).toBe(404);
  expect((await server.send({ method: 'POST', at: `${AT}/w1/suspend`, as: 'jdoe', body: {} })).status).toBe(403);
});

it('a worker is lost when its lease stays as it is, and none that renews it, whatever the clocks say', async () => {
  const { store, clock } = server;
  const leases = (holder: string, skewMs: number) => {
    const skewed: Clock = {
      now: () => clock.now() + skewMs,
      monotonic: () => clock.monotonic(),
      after: (ms, work) => clock.after(ms, work),
    };
    return new Leases({ store, clock: skewed, holder });
  };
  await worker('w5', 'ahead', 'running', false);
  await worker('w6', 'behind', 'running', false);
  await leases('w5', 140_000).acquire(leaseName('w5'), LIMITS.leaseMs);
  const behind = leases('w6', -140_000);
  const answer = await behind.acquire(leaseName('w6'), LIMITS.leaseMs);
  if (answer.kind === 'held') expect.fail('it is held');
  const state = async (name: string) =>
    (await list('?all=true')).find((one: { name: string }) => one.name === name)?.state;
  expect(await state('ahead')).toBe('running');
  clock.advance(LIMITS.leaseMs);
  await behind.renew(answer.lease, LIMITS.leaseMs);
  expect([await state('ahead'), await state('behind')]).toEqual(['lost', 'running']);
});
