import { NODE_EVENTS } from '@muster/nodes';
import { Type } from 'typebox';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { COUNT_LIMITS, EventCounts, hourOf } from '../src/counts/event-counts.js';
import { COUNT_ROWS } from '../src/counts/rows.js';
import { OwnEvents } from '../src/log/own-events.js';
import { Recorder } from '../src/log/recorder.js';
import { ORG, OTHER, something } from './support/event-log.js';
import { openTestStore, type TestStore } from './support/test-store.js';

/** How many events there were is known hour by hour, also after a restart, and none counts twice. */

const HOUR = 3_600_000;
const WORK = new OwnEvents({
  prefix: 'work.',
  followers: null,
  schemas: {
    'work.ended': {
      summary: 'Some work ended.',
      attributes: Type.Object({ status: Type.String() }),
      data: Type.Object({}),
      counted: 'by status',
    },
  },
});
let given: TestStore;
let recorder: Recorder;
let counts: EventCounts;
const warnings: string[] = [];

beforeEach(async () => {
  given = await openTestStore();
  await begin();
});
afterEach(async () => {
  await counts.stop();
  expect(warnings).toEqual([]);
  await given.close();
});

/** As a server that starts on what is stored. */
async function begin(): Promise<void> {
  const { store, clock } = given;
  recorder = new Recorder({
    ...{ store, clock, maxSize: 1000 },
    organizationName: async (id) => [ORG, OTHER].find((one) => one.id === id)?.name ?? null,
    failed: (error) => warnings.push(String(error)),
  });
  await recorder.load();
  const say = (_: object, message: string): void => void warnings.push(message);
  const log = { debug: say, info: say, warn: say, error: say };
  counts = new EventCounts({ store, clock, recorder, log, families: [NODE_EVENTS, WORK] });
  await counts.load();
  counts.start();
}

const down = (org = ORG) => NODE_EVENTS.tell('node.down', org, { node: 'web1' }, { reason: 'silent' });
const ended = (status: string) => WORK.tell('work.ended', ORG, { status }, {});
const told = (org = ORG, hours: number = COUNT_LIMITS.hours) => {
  const now = hourOf(given.clock.now());
  return counts.of(org.id, hours).map(({ hour, type, status, count }) => [hour - now, type, status, count]);
};

test('they are counted by type, some by status, each organization its own, and nothing else is', async () => {
  await recorder.append([down(), down(), ended('complete'), ended('aborted'), ended('complete'), down(OTHER)]);
  await recorder.append([something('node.down'), NODE_EVENTS.tell('node.removed', ORG, { node: 'web1' }, {})]);
  expect(told()).toEqual([
    [0, 'node.down', '', 2],
    [0, 'work.ended', 'complete', 2],
    [0, 'work.ended', 'aborted', 1],
  ]);
  expect(told(OTHER)).toEqual([[0, 'node.down', '', 1]]);
});

test('each in its hour, for a day', async () => {
  await recorder.append([down()]);
  given.clock.advance(HOUR);
  await recorder.append([down(), down()]);
  expect(told()).toEqual([
    [-1, 'node.down', '', 1],
    [0, 'node.down', '', 2],
  ]);
  expect(told(ORG, 1)).toEqual([[0, 'node.down', '', 2]]);
  given.clock.advance(COUNT_LIMITS.hours * HOUR);
  expect(told()).toEqual([]);
  await counts.stop();
  expect(await given.store.read.selectFrom('event_counts').selectAll().execute()).toEqual([]);
  await begin();
  expect(told()).toEqual([]);
});

test('a server that was stopped goes on where it was', async () => {
  await recorder.append([down(), down()]);
  await counts.stop();
  await begin();
  await recorder.append([down()]);
  expect(told()).toEqual([[0, 'node.down', '', 3]]);
});

test('one that crashed counts what it had not stored, once', async () => {
  await recorder.append([down(), something('a'), down()]);
  await counts.stop();
  await begin();
  await recorder.append([down(), something('b')]);
  await recorder.append([ended('complete'), down(OTHER)]);
  const former = counts;
  // Nothing more is stored by it.
  await begin();
  expect([told(), told(OTHER)]).toEqual([
    [
      [0, 'node.down', '', 3],
      [0, 'work.ended', 'complete', 1],
    ],
    [[0, 'node.down', '', 1]],
  ]);
  await former.stop();
});

test('what was counted goes with an organization, and nothing else does', async () => {
  await recorder.append([down(), ended('complete'), down(OTHER)]);
  await counts.stop();
  expect(await given.store.transact((trx) => COUNT_ROWS.clear(trx, ORG.id, 100))).toBe(true);
  const left = await given.store.read.selectFrom('event_counts').select('org_id').execute();
  expect(left).toEqual([{ org_id: OTHER.id }]);
});
