import { ManualClock } from '@muster/base';
import type { Write } from '@muster/store';
import { describe, expect, onTestFinished, test } from 'vitest';
import { OutputKeeper } from '../src/output/keeper.js';
import { OUTPUT_LIMITS } from '../src/output/limits.js';
import { storedOutput } from '../src/output/reading.js';
import { openTestStore } from './support/test-store.js';

const SOURCE = { subject: 'task/1', part: 'web1' };
const STDOUT = { ...SOURCE, stream: 'stdout' } as const;

/** A store whose disk is slow: each write goes on when it is told to. */
async function slowStore() {
  const clock = new ManualClock();
  const { store, close } = await openTestStore();
  onTestFinished(close);
  const held: (() => void)[] = [];
  const acknowledged: number[] = [];
  const persist = async (writes: readonly Write[]): Promise<void> => {
    await new Promise<void>((resolve) => held.push(resolve));
    await store.persist(writes);
  };
  const keeper = new OutputKeeper({
    store: { read: store.read, persist },
    clock,
    limitOf: () => 10,
    failed: (error) => {
      throw error;
    },
  });
  const take = (offset: number, text: string) =>
    keeper.take(STDOUT, { offset, data: Buffer.from(text) }, (below) => void acknowledged.push(below));
  const answer = async () => {
    const before = acknowledged.length;
    held.shift()?.();
    await expect.poll(() => acknowledged.length).toBe(before + 1);
  };
  const release = async () => {
    for (const write of held.splice(0)) write();
    await keeper.settled();
  };
  const text = async () => {
    const all: Uint8Array[] = [];
    for await (const data of storedOutput(store.read, STDOUT, 0)) all.push(data);
    return Buffer.concat(all).toString();
  };
  return { store, clock, keeper, take, answer, release, text, acknowledged };
}

describe('a piece is acknowledged when it is stored', () => {
  test('and not when it is repeated before', async () => {
    const { take, answer, acknowledged } = await slowStore();
    take(0, 'hello');
    take(0, 'hello');
    expect(acknowledged.filter((offset) => offset > 0)).toEqual([]);
    await answer();
    expect(acknowledged.at(-1)).toBe(5);
  });

  test('and what is beyond the limit, and not stored, does not vouch for what is before it', async () => {
    const { take, answer, acknowledged } = await slowStore();
    take(0, 'helloworld');
    take(10, '!');
    expect(acknowledged.filter((offset) => offset > 0)).toEqual([]);
    await answer();
    expect(acknowledged.at(-1)).toBe(11);
  });

  test('each by itself, not with the last', async () => {
    const { take, answer, acknowledged } = await slowStore();
    take(0, 'one');
    take(3, 'two');
    await answer();
    expect(acknowledged).toEqual([3]);
    await answer();
    expect(acknowledged).toEqual([3, 6]);
  });
});

test('no more than the limit is kept of a stream, and what was written is counted', async () => {
  const { keeper, take, release, text } = await slowStore();
  take(0, 'hello');
  take(5, 'world and more');
  await release();
  expect(await text()).toBe('helloworld');
  expect(keeper.totals(SOURCE)).toEqual({ stdout: 19, stderr: 0 });
  expect(keeper.isWhole(SOURCE)).toBe(false);
  keeper.finish(SOURCE, { output: null, bytes: { stdout: 21, stderr: 1 } });
  expect(keeper.totals(SOURCE)).toEqual({ stdout: 21, stderr: 1 });
  expect(keeper.isWhole(SOURCE)).toBe(true);
});

test('output that comes with the result is stored with it', async () => {
  const { keeper, release, text } = await slowStore();
  keeper.finish(SOURCE, { output: { stdout: Buffer.from('all'), stderr: Buffer.from('') }, bytes: null });
  await release();
  expect(await text()).toBe('all');
  expect(keeper.totals(SOURCE)).toEqual({ stdout: 3, stderr: 0 });
});

describe('small pieces of many streams', () => {
  const streams = Array.from({ length: 2 * OUTPUT_LIMITS.answersARound }, (_, node) => `web${node}`);

  async function quickStore() {
    const { store, close } = await openTestStore();
    onTestFinished(close);
    const clock = new ManualClock();
    const keeper = new OutputKeeper({ store, clock, limitOf: () => 1e6, failed: (error) => expect.fail(`${error}`) });
    const answered: [part: string, below: number][] = [];
    const takeOfAll = (offset: number, data: Buffer): void => {
      for (const part of streams) {
        keeper.take({ ...SOURCE, part, stream: 'stdout' }, { offset, data }, (below) => answered.push([part, below]));
      }
    };
    return { clock, keeper, answered, takeOfAll };
  }

  test('are answered some at a time, but for the first of each, and each says all that is stored', async () => {
    const { clock, answered, takeOfAll } = await quickStore();
    takeOfAll(0, Buffer.from('1'));
    await expect.poll(() => answered.length).toBe(streams.length);
    takeOfAll(1, Buffer.from('2'));
    await expect.poll(() => answered.length).toBe(streams.length + OUTPUT_LIMITS.answersARound);
    clock.advance(OUTPUT_LIMITS.answerRoundMs);
    expect(answered.slice(streams.length)).toEqual(streams.map((part) => [part, 2]));
  });

  test('large ones are answered at once', async () => {
    const { answered, takeOfAll } = await quickStore();
    takeOfAll(0, Buffer.from('1'));
    takeOfAll(1, Buffer.alloc(OUTPUT_LIMITS.largeBytes));
    await expect.poll(() => answered.length).toBe(2 * streams.length);
  });
});

test('after a restart it goes on where the streams stood', async () => {
  const { store, take, release, text } = await slowStore();
  take(0, 'hello');
  await release();
  const next = new OutputKeeper({
    store,
    clock: new ManualClock(),
    limitOf: () => 10,
    failed: (error) => expect.fail(`${error}`),
  });
  await next.load(SOURCE.subject);
  expect(next.totals(SOURCE)).toEqual({ stdout: 5, stderr: 0 });
  const acknowledged: number[] = [];
  const stored = (below: number): void => void acknowledged.push(below);
  next.take(STDOUT, { offset: 0, data: Buffer.from('hello') }, stored);
  next.take(STDOUT, { offset: 5, data: Buffer.from('world!') }, stored);
  await next.settled();
  expect(acknowledged).toEqual([5, 11]);
  expect(await text()).toBe('helloworld');
});

test('those who follow a source are told when more of it is stored', async () => {
  const { keeper, take, answer } = await slowStore();
  let told = 0;
  const leave = keeper.followers.follow(SOURCE, () => {
    told += 1;
  });
  take(0, 'one');
  expect(told).toBe(0);
  await answer();
  expect(told).toBe(1);
  leave();
  take(3, 'two');
  await answer();
  expect(told).toBe(1);
});
