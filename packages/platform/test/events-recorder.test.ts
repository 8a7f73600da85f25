import { NODE_EVENTS } from '@muster/nodes';
import { insert, type Store } from '@muster/store';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openTestStore, type TestStore } from '../../push/test/support/push-rows.js';
import { Recorder } from '../src/log/recorder.js';
import type { StoredEvent } from '../src/log/stored-event.js';
import { loggedEvents, ORG, OTHER, something, tailOf, typeOf } from './support/event-log.js';

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

async function open(store: Store = given.store): Promise<void> {
  recorder = new Recorder({ store, clock: given.clock, maxSize: 200, failed: (error) => failures.push(error) });
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
    recorder.transact(3, async (_trx, record) => record([something('2'), something('3')])),
    recorder.append([something('4')]),
    recorder.commit([named('b')], [something('5')]),
    recorder.persist([], [something('6')]),
  ];
  await Promise.all(all);
  expect(types()).toEqual(['1', '2', '3', '4', '5', '6']);
  expect(positions()).toEqual([...positions()].sort((a, b) => a - b));
  expect(await logged()).toEqual(types());
});

test('nobody hears of an event while it is not known what becomes of an earlier one', async () => {
  let confirm: () => void = () => undefined;
  const slow: Store = {
    ...given.store,
    commit: async (writes) => {
      await given.store.commit(writes);
      await new Promise<void>((resolve) => {
        confirm = resolve;
      });
    },
  };
  await open(slow);
  const first = recorder.commit([], [something('first')]);
  await recorder.persist([], [something('second')]);
  expect(types()).toEqual([]);
  confirm();
  await first;
  expect(types()).toEqual(['first', 'second']);
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
      given.store.transact(async (trx) => {
        await work(trx).catch(() => undefined);
        await trx.deleteFrom('event_log').execute();
        return work(trx);
      }),
  };
  await open(repeating);
  await recorder.transact(1, async (_trx, record) => {
    runs += 1;
    record([something(`run ${runs}`)]);
  });
  expect([types(), await logged()]).toEqual([['run 2'], ['run 2']]);
});

test('a transaction that fails leaves nothing', async () => {
  const failing = recorder.transact(1, async (_trx, record) => {
    record([something('never')]);
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  await recorder.commit([], [something('later')]);
  expect([types(), await logged()]).toEqual([['later'], ['later']]);
});

test('a transaction cannot tell more than it announced', async () => {
  const work = recorder.transact(1, async (_trx, record) => record([something('a'), something('b')]));
  await expect(work).rejects.toThrow('announced 1');
  expect(await logged()).toEqual([]);
});

test('a transaction gives back the positions that it does not use, unless later ones are given already', async () => {
  const change = (type: string) => recorder.transact(1000, async (_trx, record) => record([something(type)]));
  await change('a');
  await recorder.commit([], [something('b')]);
  await recorder.transact(1000, async () => undefined);
  await Promise.all([change('c'), recorder.commit([], [something('d')])]);
  const [first = 0] = positions();
  expect(types()).toEqual(['a', 'b', 'c', 'd']);
  expect(positions()).toEqual([first, first + 1, first + 2, first + 1002]);
});

test('a transaction that fails gives none back: it may be in the log all the same', async () => {
  await recorder.commit([], [something('a')]);
  const lost = recorder.transact(1000, async (_trx, record) => {
    record([something('lost')]);
    throw new Error('no');
  });
  await expect(lost).rejects.toThrow('no');
  await recorder.commit([], [something('b')]);
  const [first = 0] = positions();
  expect(positions()).toEqual([first, first + 1001]);
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
  await recorder.transact(1, (trx) => recorder.forgetSome(trx, ORG.id, 1));
  await recorder.transact(1, (trx) => recorder.forgetSome(trx, ORG.id, 100));
  expect(await logged()).toEqual(['kept']);
  await open();
  await recorder.commit([], [something('c')]);
  expect(positions()[0]).toBeGreaterThan(before);
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
