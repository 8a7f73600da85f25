import { afterEach, beforeEach, expect, test } from 'vitest';
import { Balancer } from '../../src/disbatch/balance/balancer.js';
import type { BalanceDocument } from '../../src/disbatch/balance/document.js';
import { balanceOf } from '../../src/disbatch/reads.js';
import { saveBalance } from '../../src/disbatch/writes.js';
import { type Interface, openInterface } from '../support/disbatch-interface.js';

let dci: Interface;
let balancer: Balancer;
const log: string[] = [];

function balancerOf({ test, controller, organization }: Interface, pretend = false): Balancer {
  const say = (_details: object, message: string): void => void log.push(message);
  return new Balancer({
    store: test.store,
    clock: test.clock,
    controller,
    organization: async (id) => (id === organization.id ? organization : undefined),
    logger: { info: say, warn: say },
    pretend,
    localTime: () => ({ day: 1, minute: 600 }),
  });
}

const PLAN: BalanceDocument = { max_tasks: { '* 07:00': 5 }, queues: [['bulk'], ['api']], disabled: null };

async function store(document: object): Promise<void> {
  await dci.test.store.commit([saveBalance({ org_id: dci.organization.id, document: JSON.stringify(document) })]);
}

async function stored(): Promise<BalanceDocument> {
  return JSON.parse((await balanceOf(dci.test.store.read, dci.organization.id)) ?? '{}') as BalanceDocument;
}

const threads = () =>
  Object.fromEntries(dci.controller.queues(dci.organization.id).map((queue) => [queue.name, queue]));

beforeEach(async () => {
  dci = await openInterface({ settings: { balance: { enabled: true, pretend: false } } });
  for (const name of ['bulk', 'api']) await dci.post('/queues', { name, plugin: 'Disbatch::Plugin::Demo' });
  for (const { id, name } of dci.controller.queues(dci.organization.id)) {
    dci.controller.counts.set(id, { queued: name === 'bulk' ? 100 : 2 });
  }
  balancer = balancerOf(dci);
});

afterEach(async () => {
  await balancer.stop();
  await dci.close();
});

test('threads are set every 30 seconds, and let queues run that waited for them', async () => {
  await store(PLAN);
  balancer.start();
  await expect.poll(threads).toMatchObject({ bulk: { threads: 3, state: 'open' }, api: { threads: 2, state: 'open' } });
  await expect.poll(stored).toMatchObject({ status: 'OK', message: 'QueueBalance is running' });
  const api = dci.controller.queue(dci.organization.id, 'api');
  dci.controller.counts.set(api?.id ?? '', { queued: 0 });
  dci.test.clock.advance(30_000);
  await expect.poll(threads).toMatchObject({ bulk: { threads: 5 }, api: { threads: 0 } });
});

test('a queue that somebody has paused stays so', async () => {
  await store(PLAN);
  const { id = '' } = dci.controller.queue(dci.organization.id, 'bulk') ?? {};
  await dci.controller.changeQueue(
    dci.organization,
    id,
    { threads: 1, state: 'paused' },
    {
      identity: { type: 'user', name: 'ann', principalId: '1' },
    },
  );
  await balancer.balance();
  expect(threads()).toMatchObject({ bulk: { threads: 3, state: 'paused' } });
});

test('nothing is set while it is disabled, and then it goes on', async () => {
  const until = dci.test.clock.now() / 1000 + 60;
  await store({ ...PLAN, disabled: until });
  await balancer.balance();
  expect(threads()).toMatchObject({ bulk: { threads: null } });
  expect(await stored()).toMatchObject({
    status: 'OK',
    message: expect.stringMatching(/^QueueBalance disabled until/),
  });
  dci.test.clock.advance(61_000);
  await balancer.balance();
  expect(await stored()).toMatchObject({ disabled: null, message: 'QueueBalance is running' });
});

test('it tells of queues that there are not, and of a plan without times', async () => {
  await store({ ...PLAN, queues: [['bulk', 'gone']] });
  await balancer.balance();
  expect(await stored()).toMatchObject({ status: 'WARNING', message: expect.stringContaining('gone') });
  await store({ ...PLAN, max_tasks: {} });
  await balancer.balance();
  expect(await stored()).toMatchObject({ status: 'WARNING', message: expect.stringContaining('max_tasks is empty') });
});

test('it only pretends when told so', async () => {
  await store(PLAN);
  await balancerOf(dci, true).balance();
  expect(threads()).toMatchObject({ bulk: { threads: null } });
  expect(log).toContain('queue balanced');
});

test('monitoring shows how it goes, and when it is silent', async () => {
  const finding = async () => (await dci.get('/monitoring')).body.queuebalance;
  expect(await finding()).toMatchObject({ status: 'CRITICAL', message: expect.stringMatching(/not running for \d+s/) });
  await store(PLAN);
  await balancer.balance();
  expect(await finding()).toEqual({ status: 'OK', message: 'QueueBalance is running' });
  dci.test.clock.advance(61_000);
  expect(await finding()).toEqual({ status: 'CRITICAL', message: 'queuebalanced not running for 61s' });
  await store({ ...PLAN, status: 'odd', timestamp: Math.floor(dci.test.clock.now() / 1000) });
  expect(await finding()).toMatchObject({ message: 'queuebalanced unknown status', result: { status: 'odd' } });
});
