import { ManualClock } from '@muster/base';
import { beforeEach, expect, test } from 'vitest';
import { Upkeep } from '../src/upkeep/upkeep.js';

let clock: ManualClock;
let upkeep: Upkeep;
/** How the rounds end that have begun. */
let rounds: { end(): void; fail(error: Error): void }[];
let failures: unknown[];

beforeEach(() => {
  clock = new ManualClock();
  rounds = [];
  failures = [];
  upkeep = new Upkeep({
    clock,
    pauseMs: 1000,
    round: () => new Promise((end, fail) => rounds.push({ end, fail })),
    failed: (error) => failures.push(error),
  });
});

const turn = () => new Promise((resolve) => setImmediate(resolve));

async function end(): Promise<void> {
  rounds.at(-1)?.end();
  await turn();
}

test('a round that is in a hurry does not wait for its time, and the next one has a whole pause', async () => {
  upkeep.start();
  clock.advance(999);
  upkeep.hurry();
  expect(rounds).toHaveLength(1);
  clock.advance(1000);
  await end();
  clock.advance(999);
  expect(rounds).toHaveLength(1);
  clock.advance(1);
  expect(rounds).toHaveLength(2);
  await end();
});

test('there is one round at a time, however much hurry there is', async () => {
  upkeep.start();
  for (let index = 0; index < 3; index++) upkeep.hurry();
  clock.advance(5000);
  expect(rounds).toHaveLength(1);
  await end();
  upkeep.hurry();
  expect(rounds).toHaveLength(2);
  await end();
});

test('no hurry begins a round before the start, or after the stop', async () => {
  upkeep.hurry();
  upkeep.start();
  await upkeep.stop();
  upkeep.hurry();
  clock.advance(5000);
  expect(rounds).toHaveLength(0);
});

test('stopping waits for a round that was in a hurry, and none follows it', async () => {
  upkeep.start();
  upkeep.hurry();
  let stopped = false;
  const stopping = upkeep.stop().then(() => {
    stopped = true;
  });
  upkeep.hurry();
  await turn();
  expect(stopped).toBe(false);
  await end();
  await stopping;
  upkeep.hurry();
  clock.advance(5000);
  expect(rounds).toHaveLength(1);
});

test('after a round that failed there is another one', async () => {
  upkeep.start();
  upkeep.hurry();
  rounds[0]?.fail(new Error('no'));
  await turn();
  expect(failures).toEqual([new Error('no')]);
  clock.advance(1000);
  expect(rounds).toHaveLength(2);
  await end();
});
