import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Breaker } from '../src/assign/breaker.js';
import { NodeSlots } from '../src/assign/node-slots.js';
import { Pace } from '../src/assign/pace.js';
import { Rate } from '../src/queues/rate.js';
import { STATUS } from '../src/status.js';
import { type Fixture, openFixture } from './support/controller-fixture.js';
import { ORG, PlayedNodes } from './support/played-nodes.js';

describe('who gets what next', () => {
  let fixture: Fixture;

  beforeEach(async () => {
    fixture = await openFixture();
  });

  afterEach(() => fixture.close());

  const queueOf = async (id: string): Promise<string> => (await fixture.row(id)).queue_id;

  test('queues share a node by weight, so that a long one starves no other', async () => {
    const long = await fixture.queue('long');
    const short = await fixture.queue('short');
    const heavy = await fixture.queue('heavy', { rules: { weight: 2 } });
    await fixture.add(long, 200);
    await fixture.add(short, 20);
    await fixture.add(heavy, 40);
    const node = fixture.nodes.enter('n1');
    node.offer(80, ['p']);
    await expect.poll(() => node.given.length).toBe(80);
    const share = new Map<string, number>();
    for (const { id } of node.given) share.set(await queueOf(id), (share.get(await queueOf(id)) ?? 0) + 1);
    expect(share.get(short)).toBe(20);
    expect(share.get(long)).toBe(20);
    expect(share.get(heavy)).toBe(40);
  });

  test('what a queue had while no other waited is not held against it', async () => {
    const [short, long] = [await fixture.queue('short'), await fixture.queue('long')];
    const node = fixture.nodes.enter('n1');
    node.offer(10, ['p']);
    const finishAll = (): void => {
      for (const id of [...node.tasks.keys()]) node.finish(id, { durationMs: 10_000 });
    };
    for (let had = 0; had < 50; had += 10) {
      await fixture.add(short, 10);
      await expect.poll(() => node.given.length).toBe(had + 10);
      finishAll();
    }
    await fixture.add(long, 60);
    // Ten for its slots, and one that waits on it.
    await expect.poll(() => node.given.length).toBe(61);
    await fixture.add(short, 20);
    finishAll();
    await expect.poll(() => node.given.length).toBe(72);
    // As many as the node had of the other when it came, and then in turns.
    finishAll();
    await expect.poll(() => node.given.length).toBe(83);
    const queues = await Promise.all(node.given.slice(61, 83).map(({ id }) => queueOf(id)));
    expect(queues.slice(0, 11).every((queue) => queue === short)).toBe(true);
    expect(queues.slice(11, 21).filter((queue) => queue === short)).toHaveLength(5);
  });

  test('keys of a queue take turns, each within its limit', async () => {
    const queue = await fixture.queue('q', { rules: { key: { param: 'user', limit: 2 } } });
    const many = Array.from({ length: 30 }, () => ({ params: { user: 'anna' } }));
    const [first = ''] = await fixture.add(queue, many);
    const [other = ''] = await fixture.add(queue, [{ params: { user: 'bob' } }]);
    const node = fixture.nodes.enter('n1');
    node.offer(10, ['p']);
    await expect.poll(() => node.given.length).toBe(3);
    expect(node.given.map(({ id }) => id)).toContain(other);
    node.finish(first);
    await expect.poll(() => node.given.length).toBe(4);
    expect(fixture.controller.queue(ORG.id, queue)?.counts.claimed).toBe(3);
  });

  test('a queue goes to the nodes that it names, and not to those that do not want it', async () => {
    const wanted = await fixture.queue('media', {
      rules: { nodes: "name = 'n1' OR name = 'n3'", ignoreNodes: 'name:n3' },
    });
    const [one, other, third] = ['n1', 'n2', 'n3'].map((name) => fixture.nodes.enter(name));
    for (const node of [one, other, third]) node?.offer(9, ['p']);
    await fixture.add(wanted, 4);
    await expect.poll(() => one?.given.length).toBe(4);
    expect([other?.given, third?.given]).toEqual([[], []]);
    const picky = await fixture.queue('picky');
    one?.offer(9, ['p'], { ignorequeues: ['picky'] });
    other?.offer(9, ['p'], { activequeues: [wanted] });
    await fixture.add(picky, 2);
    await expect.poll(() => third?.given.length).toBe(2);
  });

  test('what a busy node has not begun is taken back for one that is idle', async () => {
    const queue = await fixture.queue('q');
    const busy = fixture.nodes.enter('n1');
    busy.offer(2, ['p']);
    const [, second = ''] = await fixture.add(queue, 2);
    await expect.poll(() => busy.given.length).toBe(2);
    fixture.nodes.enter('n2').offer(2, ['p']);
    fixture.clock.advance(5000);
    await expect.poll(() => busy.recalls).toContainEqual({ id: second, attempt: 1 });
    busy.tasks.delete(second);
    busy.news({ id: second, attempt: 1, event: 'returned', reason: 'asked for' });
    await fixture.stands(second, { status: STATUS.claimed, node: 'n2', attempt: 2 });
  });
});

test('a rate lets so many through at once, and then one after the other', () => {
  const rate = new Rate({ tasks: 2, seconds: 10 }, 0);
  expect(rate.waitMs(0)).toBe(0);
  rate.take();
  rate.take();
  expect(rate.waitMs(0)).toBe(5000);
  expect(rate.waitMs(5000)).toBe(0);
  rate.take();
  expect(rate.waitMs(5000)).toBe(5000);
});

test('a plugin that fails at once five times in a row gets nothing for a while, then one task to try', () => {
  const breaker = new Breaker();
  for (let failure = 1; failure < 5; failure++) expect(breaker.ended(true, 10, 0)).toBe(false);
  expect(breaker.admits(0)).toBe(true);
  expect(breaker.ended(true, 10, 0)).toBe(true);
  expect(breaker.admits(59_999)).toBe(false);
  expect(breaker.admits(60_000)).toBe(true);
  breaker.given();
  expect(breaker.admits(60_000)).toBe(false);
  expect(breaker.ended(true, 10, 60_001)).toBe(true);
  expect(breaker.admits(60_002)).toBe(false);
  breaker.given();
  expect(breaker.ended(false, 10, 130_000)).toBe(false);
  expect(breaker.waitMs(130_000)).toBeNull();
});

test('failures that take their time are those of the tasks, not of the plugin', () => {
  const breaker = new Breaker();
  for (let failure = 0; failure < 20; failure++) breaker.ended(true, 5000, failure);
  expect(breaker.admits(0)).toBe(true);
});

test('a node that ends many tasks a second is given more than it runs, one that takes long is not', () => {
  const fast = new Pace();
  for (let at = 0; at < 3000; at += 10) fast.ended(10, at);
  expect(fast.within(60)).toBeGreaterThan(40);
  const slow = new Pace();
  for (let at = 0; at < 100_000; at += 10_000) slow.ended(1, at);
  expect(slow.within(60)).toBe(0);
});

test('tasks that end together promise no more than the time that each of them takes', () => {
  const slots = new NodeSlots(new PlayedNodes().enter('n1').view);
  const plugins = [{ name: 'p', contract: 'module', concurrency: null } as const];
  slots.offered({ type: 'task_slots', max: 4, plugins, activequeues: [], ignorequeues: [] });
  for (const at of [100, 200, 300]) for (let task = 0; task < 4; task++) slots.ended('p', false, 100, at);
  // In 40 ms, four slots end at most two tasks of 100 ms.
  expect(slots.free).toBe(4 + 2);
});

test('a node gets more beyond its slots the longer the store takes', () => {
  const slots = new NodeSlots(new PlayedNodes().enter('n1').view);
  const plugins = [{ name: 'p', contract: 'module', concurrency: null } as const];
  slots.offered({ type: 'task_slots', max: 4, plugins, activequeues: [], ignorequeues: [] });
  for (let at = 0; at < 3000; at += 10) slots.ended('p', false, 1, at);
  const soon = slots.free;
  for (let commit = 0; commit < 50; commit++) slots.stored(100);
  expect(slots.free).toBeGreaterThan(2 * soon);
  for (let commit = 0; commit < 50; commit++) slots.stored(60_000);
  // What a node ends in a quarter of a second, and no more.
  expect(slots.free).toBe(4 + 25);
});
