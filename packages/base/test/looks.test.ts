import { expect, test } from 'vitest';
import { Looks, ManualClock } from '../src/index.js';

const turn = () => new Promise((done) => setImmediate(done));

function looking(look: (number: number) => Promise<void> | void) {
  const clock = new ManualClock();
  const failed: unknown[] = [];
  let count = 0;
  const looks = new Looks({
    clock,
    againMs: 5000,
    look: async () => look(++count),
    failed: (error) => failed.push(error),
  });
  return { looks, clock, failed, count: () => count };
}

test.each([0, 1, 2, 3, 4, 5, 6, 7, 8])('what is asked for %i steps after a look is looked at', async (steps) => {
  const { looks, count } = looking(async (number) => {
    if (number > 1) return;
    let later = Promise.resolve();
    for (let step = 0; step < steps; step++) later = later.then(() => undefined);
    void later.then(() => looks.ask());
  });
  looks.ask();
  await turn();
  expect(count()).toBe(2);
});

test('there is one look at a time, and one for all that ask meanwhile', async () => {
  let end: () => void = () => undefined;
  const { looks, count } = looking(
    () =>
      new Promise((done) => {
        end = done;
      }),
  );
  looks.ask();
  looks.ask();
  looks.ask();
  expect(count()).toBe(1);
  end();
  await turn();
  expect(count()).toBe(2);
  end();
  await turn();
  expect(count()).toBe(2);
});

test('a look that failed is told, and comes again after a while', async () => {
  const { looks, clock, failed, count } = looking((number) => {
    if (number === 1) throw new Error('away');
  });
  looks.ask();
  await turn();
  expect(failed).toEqual([new Error('away')]);
  clock.advance(4999);
  await turn();
  expect(count()).toBe(1);
  clock.advance(1);
  await turn();
  expect(count()).toBe(2);
});

test('who stops waits for the look, which nothing follows, and is told of no failure', async () => {
  let fail: (error: Error) => void = () => undefined;
  const { looks, clock, failed, count } = looking(
    () =>
      new Promise((_, failing) => {
        fail = failing;
      }),
  );
  looks.ask();
  looks.askBy(clock.now() + 10);
  const stopping = looks.stop();
  looks.ask();
  fail(new Error('closed'));
  await stopping;
  clock.advance(10_000);
  looks.askBy(clock.now());
  clock.advance(0);
  await turn();
  expect([count(), failed]).toEqual([1, []]);
});
