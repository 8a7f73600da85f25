import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createEvents, type Events } from '../src/log/events.js';
import { LOG_LIMITS } from '../src/log/log-limits.js';
import { loggedEvents, ORG, something } from './support/event-log.js';
import { openTestStore, type TestStore } from './support/test-store.js';

/** The log is bounded in age and in size. */

const DAY = 86_400_000;
let given: TestStore;
let events: Events;
/** Within a read of the log. */
let meanwhile = async () => {};
const warnings: string[] = [];
/** What layers above say that must stay. */
const running = new Set<string>();

beforeEach(async () => {
  meanwhile = async () => {};
  running.clear();
  given = await openTestStore();
  events = await open();
});
afterEach(async () => {
  await events.stop();
  await given.close();
  expect(warnings.splice(0)).toEqual([]);
});

async function open(settings: { keep?: number; max_bytes?: number } = {}): Promise<Events> {
  const opened = createEvents({
    store: given.store,
    clock: given.clock,
    logger: {
      warn: (_details, message) => warnings.push(message),
      error: (_details, message) => warnings.push(message),
    },
    config: {
      events: { keep: 86_400, max_bytes: 1_048_576, max_size: 4096, outlet_bytes: 0, max_scheduled: 0, ...settings },
    },
    organizationId: async () => {
      await meanwhile();
      return ORG.id;
    },
    organizationName: async () => ORG.name,
    openSubjects: [async () => [...running], async () => ['task/1']],
  });
  await opened.load();
  return opened;
}

const types = async () => (await loggedEvents(given.store)).map(({ type }) => type);
const tell = (type: string, about: Parameters<typeof something>[1] = {}) =>
  events.recorder.commit([], [something(type, about)]);
const large = { body: 'x'.repeat(300_000) };

test('events older than they are kept go', async () => {
  await tell('old');
  given.clock.advance(DAY);
  await tell('new');
  given.clock.advance(1);
  await events.retention.prune();
  expect(await types()).toEqual(['new']);
});

test('what stands in one row with a newer event stays with it', async () => {
  const { recorder } = events;
  const now = given.clock.now();
  await Promise.all([
    recorder.persist([], [something('old')], now - 2 * DAY),
    recorder.persist([], [something('new')], now),
  ]);
  await events.retention.prune();
  expect(await types()).toEqual(['old', 'new']);
});

test('more rows than one transaction deletes go in one round', async () => {
  for (let index = 0; index < 3; index++) {
    const subjects = Array.from({ length: LOG_LIMITS.pruneRows }, (_, number) => `${index}-${number}`);
    await events.recorder.commit(
      [],
      subjects.map((subject) => something('t', { subject })),
    );
  }
  given.clock.advance(2 * DAY);
  await events.retention.prune();
  expect(await types()).toEqual([]);
});

test('the events of what is not finished stay as long as it runs', async () => {
  running.add('push/1');
  await tell('of the running job', { subject: 'push/1' });
  await tell('of the finished job', { subject: 'push/2' });
  given.clock.advance(2 * DAY);
  await events.retention.prune();
  expect(await types()).toEqual(['of the running job']);
  running.clear();
  await events.retention.prune();
  expect(await types()).toEqual([]);
});

test('however much has to stay, what is newer than it goes', async () => {
  const kept = Array.from({ length: LOG_LIMITS.pruneRows + 1 }, (_, number) => `push/${number}`);
  for (const subject of kept) running.add(subject);
  await events.recorder.commit(
    [],
    kept.map((subject) => something('kept', { subject })),
  );
  await tell('gone');
  given.clock.advance(2 * DAY);
  await events.retention.prune();
  expect(new Set(await types())).toEqual(new Set(['kept']));
});

test('beyond the size of the log its oldest events go', async () => {
  for (const type of ['a', 'b', 'c', 'd', 'e']) {
    await tell(type, large);
    given.clock.advance(1);
  }
  await events.retention.prune();
  expect(await types()).toEqual(['c', 'd', 'e']);
  expect(events.retention.size).toBeLessThanOrEqual(1_048_576);
});

test('a log that grows too large is cut at once, and with some room', async () => {
  events.start();
  for (const type of ['a', 'b', 'c', 'd']) await tell(type, large);
  await expect.poll(types).toEqual(['b', 'c', 'd']);
  await events.stop();
  events = await open();
  events.start();
  // Now it is just below its size.
  await tell('small', { body: 'x'.repeat(150_000) });
  await tell('e');
  await expect.poll(types).toEqual(['c', 'd', 'small', 'e']);
});

test('what is too large and must stay is not looked at again with each event', async () => {
  running.add('push/1');
  const transact = vi.spyOn(given.store, 'transact');
  events.start();
  for (let index = 0; index < 4; index++) await tell('t', { subject: 'push/1', ...large });
  await expect.poll(() => transact.mock.calls.length).toBe(2);
  for (let index = 0; index < 100; index++) await tell('t', { subject: 'push/1' });
  expect(transact).toHaveBeenCalledTimes(2);
  await tell('t', { subject: 'push/1', ...large });
  await expect.poll(() => transact.mock.calls.length).toBe(4);
  transact.mockRestore();
});

test('a round that failed is not tried again with each event', async () => {
  const transact = vi.spyOn(given.store, 'transact').mockRejectedValue(new Error('it took too long'));
  events.start();
  for (let index = 0; index < 4; index++) await tell('t', large);
  await expect.poll(() => warnings.splice(0)).toEqual(['old events could not be deleted']);
  for (let index = 0; index < 100; index++) await tell('t');
  expect(transact).toHaveBeenCalledTimes(1);
  transact.mockRestore();
  await tell('t', large);
  await expect.poll(async () => (await types()).length).toBeLessThan(105);
});

test('the size is known after a restart', async () => {
  for (const type of ['a', 'b', 'c']) await tell(type, large);
  await events.stop();
  events = await open({ max_bytes: 700_000 });
  expect(events.retention.size).toBeGreaterThan(900_000);
  await events.retention.prune();
  expect(events.retention.size).toBeLessThan(700_000);
});

test('readers learn what is gone, also after a restart', async () => {
  await tell('a');
  await tell('b');
  given.clock.advance(2 * DAY);
  await tell('c');
  await events.retention.prune();
  expect(events.retention.prunedThrough).toBe(2);
  await events.stop();
  events = await open();
  const page = await events.log.read(0, ORG.name, { events: 10, bytes: 1000 });
  expect([page.prunedThrough, page.events.map(({ position }) => position)]).toEqual([2, [3]]);
});

test('a reader learns what goes while it reads', async () => {
  await tell('a');
  given.clock.advance(2 * DAY);
  await tell('b');
  meanwhile = () => events.retention.prune();
  const page = await events.log.read(0, ORG.name, { events: 10, bytes: 1000 });
  expect([page.prunedThrough, page.events.map(({ position }) => position)]).toEqual([1, [2]]);
});

test('readers are told of nothing that stayed, as it could not be deleted', async () => {
  await tell('old');
  given.clock.advance(DAY + 1);
  const transact = vi.spyOn(given.store, 'transact').mockImplementationOnce((work) =>
    given.store.transact(async (trx, write) => {
      await work(trx, write);
      throw new Error('the disk is full');
    }),
  );
  await expect(events.retention.prune()).rejects.toThrow('the disk is full');
  transact.mockRestore();
  const page = await events.log.read(0, ORG.name, { events: 10, bytes: 1000 });
  expect([page.events.length, page.prunedThrough]).toEqual([1, 0]);
  await events.retention.prune();
  expect(await events.log.read(0, ORG.name, { events: 10, bytes: 1000 })).toMatchObject({
    events: [],
    prunedThrough: 1,
  });
});

test('positions go on after everything was pruned, and the server restarted', async () => {
  await tell('a');
  await tell('b');
  given.clock.advance(2 * DAY);
  await events.retention.prune();
  expect(await types()).toEqual([]);
  await events.stop();
  events = await open();
  await tell('c');
  expect((await loggedEvents(given.store)).map(({ position }) => position)).toEqual([3]);
});

test('it is done again and again, and once more after it failed', async () => {
  await events.stop();
  const { store } = given;
  let refusals = 1;
  let underWay = 0;
  const failing: TestStore = {
    ...given,
    store: {
      ...store,
      async transact(work) {
        if (refusals-- > 0) throw new Error('no');
        underWay += 1;
        return store.transact(work).finally(() => {
          underWay -= 1;
        });
      },
    },
  };
  given = failing;
  events = await open();
  events.start();
  await tell('a');
  given.clock.advance(2 * DAY);
  await expect.poll(() => warnings.splice(0)).toEqual(['old events could not be deleted']);
  await expect
    .poll(async () => {
      // A transaction that lasts as long as the pause between rounds is given up.
      if (underWay === 0) given.clock.advance(LOG_LIMITS.pruneEveryMs);
      return types();
    })
    .toEqual([]);
});
