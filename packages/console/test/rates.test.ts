import fc from 'fast-check';
import { expect, it } from 'vitest';
import { inLastMinute, ratesOf } from '../src/events/rates.js';
import type { LiveEvent } from '../src/live/event.js';

function eventsAt(...times: readonly number[]): readonly LiveEvent[] {
  return times.map((at, position) => ({
    ...{ position, type: 'a', at, source: '', attributes: [], contentType: null, body: '' },
  }));
}

it('each event is counted once, whatever the clocks say', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 10_000_000 })),
      fc.integer({ min: 0, max: 10_000_000 }),
      (at, now) => {
        const { counts } = ratesOf(eventsAt(...[...at].sort((a, b) => a - b)), now);
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(at.length);
        expect(counts.length).toBe(60);
      },
    ),
  );
});

it('the last span is the one until now', () => {
  const { counts, spanMs } = ratesOf(eventsAt(1000, 119_000, 120_500), 121_000);
  expect(spanMs).toBe(2000);
  expect([counts[0], counts.at(-2), counts.at(-1)]).toEqual([1, 1, 1]);
  expect(inLastMinute(eventsAt(1000, 61_001, 119_000), 121_000)).toBe(2);
});
