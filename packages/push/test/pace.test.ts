import { ManualClock } from '@muster/base';
import { describe, expect, test } from 'vitest';
import { Pace, Paces } from '../src/files/pace.js';
import { paced } from '../src/files/sending.js';

/** How fast files go out to nodes. */

const PIECE = 500;

async function* pieces(count: number): AsyncGenerator<Uint8Array> {
  for (let sent = 0; sent < count; sent += 1) yield new Uint8Array(PIECE);
}

describe('a pace', () => {
  test('lets bytes go when those before them have had their time', () => {
    const clock = new ManualClock();
    const pace = new Pace(clock, 1000);
    expect([pace.take(500), pace.take(250), pace.take(250)]).toEqual([0, 500, 750]);
    clock.advance(900);
    expect(pace.take(100)).toBe(100);
  });

  test('has saved nothing up for later when nobody wanted anything', () => {
    const clock = new ManualClock();
    const pace = new Pace(clock, 1000);
    pace.take(500);
    clock.advance(60_000);
    expect([pace.take(500), pace.take(500)]).toEqual([0, 500]);
  });
});

describe('the paces of all', () => {
  test('go on for whoever ends one request and begins another, and are apart', () => {
    const clock = new ManualClock();
    const paces = new Paces(clock, 1000);
    const first = paces.begin('web1');
    expect(first.pace.take(500)).toBe(0);
    first.end();
    expect(paces.begin('web1').pace.take(500)).toBe(500);
    expect(paces.begin('web2').pace.take(500)).toBe(0);
  });

  test('are kept of those who fetch, or whose time is not over, however many come and go', () => {
    const clock = new ManualClock();
    const paces = new Paces(clock, 1000);
    const fetching = paces.begin('fetching');
    for (let n = 0; n < 1000; n += 1) {
      const { pace, end } = paces.begin(`node${n}`);
      pace.take(500);
      end();
      clock.advance(100);
    }
    expect(paces.size).toBeLessThanOrEqual(128);
    const late = paces.begin('node999');
    expect(late.pace.take(100)).toBe(400);
    expect(fetching.pace.take(100)).toBe(0);
  });
});

describe('a file', () => {
  const never = new AbortController().signal;

  /** The clock when each piece went out. */
  async function times(clock: ManualClock, paces: readonly Pace[], count: number): Promise<number[]> {
    const began = clock.monotonic();
    const at: number[] = [];
    for await (const _ of paced(pieces(count), paces, clock, never)) at.push(clock.monotonic() - began);
    return at;
  }

  /** Moves the clock until everything has gone out. */
  async function all<T>(clock: ManualClock, work: readonly Promise<T>[]): Promise<T[]> {
    let done = false;
    const ends = Promise.all(work).finally(() => {
      done = true;
    });
    while (!done) {
      await new Promise(setImmediate);
      clock.advance(50);
    }
    return ends;
  }

  test('goes out to one node no faster than its rate', async () => {
    const clock = new ManualClock();
    const [at = []] = await all(clock, [times(clock, [new Pace(clock, 1_000_000), new Pace(clock, 1000)], 5)]);
    for (const [piece, ms] of at.entries()) expect(ms).toBeGreaterThanOrEqual((piece * PIECE * 1000) / 1000);
  });

  test('goes out to many nodes together no faster than the rate of all', async () => {
    const clock = new ManualClock();
    const shared = new Pace(clock, 1000);
    const nodes = [1, 2, 3].map(() => times(clock, [shared, new Pace(clock, 1_000_000)], 4));
    const at = (await all(clock, nodes)).flat().sort((one, other) => one - other);
    expect(at).toHaveLength(12);
    for (const [piece, ms] of at.entries()) expect(ms).toBeGreaterThanOrEqual((piece * PIECE * 1000) / 1000);
  });
});
