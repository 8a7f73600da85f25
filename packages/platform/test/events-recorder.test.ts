import { NODE_EVENTS } from '@muster/nodes';
import { insert, type Store } from '@muster/store';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Recorder, type RecorderDeps } from '../src/log/recorder.js';
import type { StoredEvent } from '../src/log/stored-event.js';
import { loggedEvents, ORG, OTHER, something, tailOf, typeOf } from './support/event-log.js';
import { openTestStore, type TestStore } from './support/test-store.js';

/** What changes state is stored together with the events that tell of it, and both are heard of only then. */

const group = insert('groups', { org_id: 'text', name: 'text', created_at: 'integer' });
const named = (name: string) => group({ org_id: 'o', name, created_at: 1 });
/** No database takes it. */
const impossible = group({ org_id: 'o', name: 'x', created_at: 0.5 });

let given: TestStore;
let recorder: Recorder;
let told: StoredEvent[];
const failures: unknown[] = [];

beforeEach(async () => {
  given = await openTestStore();
  await open();
});
afterEach(() => given.close());

const deps = (): RecorderDeps => ({
  store: given.store,
  clock: given.clock,
  maxSize: 200,
  organizationName: async (id) => [ORG, OTHER].find((one) => one.id === id)?.name ?? null,
  failed: (error) => failures.push(error),
});

async function open(store: Store = given.store): Promise<void> {
  recorder = new Recorder({ ...deps(), store });
  await recorder.load();
  told = [];
  recorder.onStored((events) => told.push(...events));
}

const positions = () => told.map(({ position }) => position);
const types = () => told.map(typeOf);
const groups = async () =>
  (await given.store.read.selectFrom('groups').select('name').orderBy('name').execute()).map(({ name }) => name);
const logged = async () => (await loggedEvents(given.store)).map(({ type }) => type);

test('a change and its events are stored together, then the listeners are told', async () => {
  const stored = recorder.persist([named('a')], [something('one'), something('two')]);
  expect(told).toEqual([]);
  await stored;
  expect([await groups(), await logged(), types()]).toEqual([['a'], ['one', 'two'], ['one', 'two']]);
});

test('a change that is not stored is not told, nor are its events in the log', async () => {
  await expect(recorder.commit([impossible], [something('never')])).rejects.toThrow();
  await recorder.commit([named('a')], [something('later')]);
  expect([await groups(), await logged(), types()]).toEqual([['a'], ['later'], ['later']]);
});

test('events are told in the order in which they were handed in, whoever stores them', async () => {
  const all = [
    recorder.persist([named('a')], [something('1')]),
    recorder.commit([impossible], [something('lost')]).catch(() => undefined),
    recorder.transact(async (_trx, record) => record([something('2'), something('3')])),
    recorder.append([something('4')]),
    recorder.commit([named('b')], [something('5')]),
    recorder.persist([], [something('6')]),
  ];
  await Promise.all(all);
  expect(types()).toEqual(['1', '2', '3', '4', '5', '6']);
  expect(positions()).toEqual([...positions()].sort((a, b) => a - b));
  expect(await logged()).toEqual(types());
});

test('what was told is told before whoever stored it goes on', async () => {
  await recorder.commit([], [something('a')]);
  expect([types(), recorder.last]).toEqual([['a'], told[0]?.position]);
});

test('a transaction that runs again is told once', async () => {
  let runs = 0;
  const repeating: Store = {
    ...given.store,
    transact: (work) =>
      given.store.transact(async (trx, write) => {
        await work(trx, () => undefined);
        return work(trx, write);
      }),
  };
  await open(repeating);
  await recorder.transact(async (_trx, record) => {
    runs += 1;
    record([something(`run ${runs}`)]);
  });
  expect([types(), await logged()]).toEqual([['run 2'], ['run 2']]);
});

test('a transaction that fails leaves nothing', async () => {
  const failing = recorder.transact(async (_trx, record) => {
    record([something('never')]);
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  await recorder.commit([], [something('later')]);
  expect([types(), await logged()]).toEqual([['later'], ['later']]);
});

test('what is not stored takes no positions', async () => {
  const ended = await Promise.allSettled([
    recorder.commit([], [something('a'), something('b')]),
    recorder.commit([impossible], [something('never')]),
    recorder.transact(async () => undefined),
    recorder.transact(async (_trx, record) => record([something('c')])),
    recorder.transact(async (_trx, record) => {
      record([something('never')]);
      throw new Error('no');
    }),
    recorder.persist([named('a')], []),
    recorder.persist([named('b')], [something('d')]),
  ]);
  expect(ended.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []))).toEqual([1, 4]);
  expect([types(), positions()]).toEqual([
    ['a', 'b', 'c', 'd'],
    [1, 2, 3, 4],
  ]);
});

test('what a transaction records at several times is told in that order', async () => {
  await recorder.transact(async (_trx, record) => {
    record([something('a', { org: OTHER }), something('b')]);
    record([something('c', { subject: 'push/1' })]);
  });
  expect([types(), positions()]).toEqual([
    ['a', 'b', 'c'],
    [1, 2, 3],
  ]);
  expect((await loggedEvents(given.store)).map(({ position, type }) => [position, type])).toEqual([
    [1, 'a'],
    [2, 'b'],
    [3, 'c'],
  ]);
});

test('positions go on after a restart', async () => {
  await recorder.commit([], [something('a'), something('b')]);
  const before = recorder.last;
  await open();
  expect(recorder.last).toBe(before);
  await recorder.commit([], [something('c')]);
  expect(positions()).toEqual([before + 1]);
});

test('positions are never given again, also when the organization with the newest events is deleted', async () => {
  await recorder.commit([], [something('kept', { org: OTHER }), something('a'), something('b')]);
  const before = recorder.last;
  await recorder.transact((trx) => recorder.forgetSome(trx, ORG.id, 1));
  await recorder.transact((trx) => recorder.forgetSome(trx, ORG.id, 100));
  expect(await logged()).toEqual(['kept']);
  await open();
  await recorder.commit([], [something('c')]);
  expect(positions()[0]).toBeGreaterThan(before);
});

test('several servers record into one log: each position is given once, and each tells all of it in that order', async () => {
  const theirs = await given.another();
  const other = new Recorder({ ...deps(), store: theirs });
  await other.load();
  const heard: StoredEvent[] = [];
  other.onStored((events) => heard.push(...events));
  for (const one of [recorder, other]) one.follow();
  await Promise.all(
    [recorder, other].map(async (recorder, server) => {
      for (let round = 0; round < 30; round++) {
        await Promise.all([
          recorder.append([something('a'), something('b', { org: OTHER })]),
          recorder.persist([named(`${server} ${round}`)], [something('c', { subject: 'push/1' })]),
          recorder.transact(async (_trx, record) => record([something('d')])),
        ]);
        const seen = (await loggedEvents(given.store)).map(({ position }) => position);
        expect(seen).toEqual(seen.map((_, index) => index + 1));
      }
    }),
  );
  for (const store of [given.store, theirs]) store.hints.send('events', '');
  const log = (await loggedEvents(given.store)).map(({ position, type, orgId }) => [position, type, orgId]);
  expect(log.length).toBe(240);
  for (const events of [told, heard]) {
    await expect.poll(() => events.length).toBe(240);
    expect(events.map((event) => [event.position, typeOf(event), event.orgId])).toEqual(log);
  }
  expect([recorder.last, other.last]).toEqual([240, 240]);
  for (const one of [recorder, other]) one.stop();
});

test('what others recorded in an organization that is gone is told to nobody, and what follows is', async () => {
  const other = new Recorder({ ...deps(), store: await given.another() });
  recorder.follow();
  await other.append([something('gone', { org: { id: 'c'.repeat(32), name: 'gone' } }), something('x')]);
  await recorder.commit([], [something('own')]);
  await expect.poll(types).toEqual(['x', 'own']);
});

test('what others recorded is read when the database answers again', async () => {
  const other = new Recorder({ ...deps(), store: await given.another() });
  let refused = 1;
  const asked = async (id: string) => {
    if (refused-- > 0) throw new Error('away');
    return id === ORG.id ? ORG.name : null;
  };
  const behind = new Recorder({ ...deps(), organizationName: asked });
  await behind.load();
  behind.onStored((events) => told.push(...events));
  behind.follow();
  await other.append([something('theirs')]);
  await behind.commit([], [something('own')]);
  await expect.poll(() => failures.splice(0)).toEqual([new Error('away')]);
  given.clock.advance(1000);
  await expect.poll(types).toEqual(['theirs', 'own']);
});

test('who does not follow others tells of its own at once, whatever they recorded', async () => {
  const other = new Recorder({ ...deps(), store: await given.another() });
  await other.append([something('theirs')]);
  await recorder.commit([], [something('own')]);
  expect([types(), positions(), recorder.last]).toEqual([['own'], [2], 2]);
});

test('events that were deleted before they could be read hold up nobody', async () => {
  const other = new Recorder({ ...deps(), store: await given.another() });
  recorder.follow();
  const forget = async () => void (await given.store.transact((trx) => recorder.forgetSome(trx, ORG.id, 100)));
  await other.append([something('theirs')]);
  await forget();
  await recorder.commit([], [something('own')]);
  // Whether what was deleted was read before depends on who was faster.
  const own = () => types().filter((type) => !type.startsWith('theirs'));
  await expect.poll(own).toEqual(['own']);
  // Its own row is gone as well when it looks for what stood before it.
  await other.append([something('theirs, too')]);
  await forget();
  await recorder.append([something('own, too')]);
  await forget();
  await expect.poll(own).toEqual(['own', 'own, too']);
  await recorder.commit([], [something('next')]);
  expect([own(), recorder.last]).toEqual([['own', 'own, too', 'next'], 5]);
  recorder.stop();
});

test('a listener that throws harms neither the change nor the other listeners', async () => {
  const heard: string[] = [];
  recorder.onStored(() => {
    throw new Error('defect');
  });
  recorder.onStored((events) => heard.push(...events.map(typeOf)));
  await recorder.commit([named('a')], [something('a')]);
  expect([heard, failures.splice(0)]).toEqual([['a'], [new Error('defect')]]);
});

test('an event of Muster’s own that is too large to travel is kept whole, and travels without its body', async () => {
  const facts = { text: 'x'.repeat(300) };
  await recorder.commit([], [NODE_EVENTS.tell('node.facts', ORG, { node: 'web1' }, { facts, labels: {} })]);
  const body = JSON.stringify({ facts, labels: {} });
  expect((await loggedEvents(given.store))[0]?.data).toEqual({ facts, labels: {} });
  expect(tailOf(told[0] ?? expect.fail('nothing was told'))).toBe(
    `destination:/topic/events\nmessage-id:${told[0]?.position}\norg:acme\nsource:muster\nsource-kind:server\n` +
      `time:${new Date(given.clock.now()).toISOString().replaceAll(':', '\\c')}\ntype:node.facts\nnode:web1\n` +
      `content-type:application/json\noversize:${body.length}\ncontent-length:0\n\n\0`,
  );
});

test('attributes are escaped, and what no frame can express is replaced', async () => {
  await recorder.commit([], [NODE_EVENTS.tell('node.created', ORG, { node: 'a:b\\c\nd\0é' }, {})]);
  expect(tailOf(told[0] ?? expect.fail('nothing was told'))).toContain('\nnode:a\\cb\\\\c\\nd\uFFFDé\n');
});
