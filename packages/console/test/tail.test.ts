import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { LiveEvent } from '../src/live/event.js';
import { applyToTail, EMPTY_TAIL } from '../src/live/tail.js';

function at(position: number): LiveEvent {
  return { position, type: 't', at: 0, source: 'a/b', attributes: [], contentType: null, body: '' };
}

it('keeps each event once, ascending, the newest of them', () => {
  const pieces = fc.array(fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 10 }), { maxLength: 10 });
  fc.assert(
    fc.property(pieces, fc.integer({ min: 1, max: 20 }), (batches, limit) => {
      const tail = batches.reduce((state, batch) => applyToTail(state, batch.map(at), limit), EMPTY_TAIL);
      const positions = tail.events.map(({ position }) => position);
      expect(positions).toEqual([...new Set(positions)].sort((a, b) => a - b));
      expect(positions.length).toBeLessThanOrEqual(limit);
      const seen = batches.flat();
      if (seen.length > 0) expect(positions.at(-1)).toBe(Math.max(...seen));
    }),
  );
});
