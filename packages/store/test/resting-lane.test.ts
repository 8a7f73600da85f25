import { type CommitReport, openMemory } from '@muster/store';
import { ManualClock } from '@muster/wire';
import { expect, test } from 'vitest';
import { named } from './conformance/rows.js';
import { silent } from './conformance/suite.js';

test('what is handed in while the lane rests shares the next commit', async () => {
  const clock = new ManualClock();
  const database = await openMemory(clock);
  const reports: CommitReport[] = [];
  let rested: () => void = () => undefined;
  let resting: Promise<void> = Promise.resolve();
  const store = database.connect({ clock, log: silent, observe: (report) => reports.push(report) }, (lane) => ({
    write: (id, batch) => lane.write(id, batch),
    transact: (id, work) => lane.transact(id, work),
    outcome: (id) => lane.outcome(id),
    probe: (id) => lane.probe(id),
    rest: () => resting,
    close: () => lane.close(),
  }));
  await store.persist([named('1', 'first')]);

  resting = new Promise((resolve) => {
    rested = resolve;
  });
  const second = store.persist([named('2', 'second')]);
  await new Promise(setImmediate);
  const third = store.persist([named('3', 'third')]);
  rested();
  await Promise.all([second, third]);

  expect(reports.map(({ parts }) => parts)).toEqual([1, 2]);
  await store.close();
  database.close();
});
