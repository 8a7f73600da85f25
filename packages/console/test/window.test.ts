import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OVERSCAN, scrollToRow, windowOf } from '../src/table/window.js';

const extents = fc.record({
  count: fc.integer({ min: 0, max: 3_000_000 }),
  row: fc.integer({ min: 10, max: 60 }),
  view: fc.integer({ min: 0, max: 3000 }),
});

/** Where the rows are drawn that the window has. */
function seen(
  extent: { readonly row: number; readonly view: number },
  scroll: number,
  window: ReturnType<typeof windowOf>,
) {
  const offset = Math.min(scroll, Math.max(0, window.height - extent.view));
  return {
    above: window.top - offset,
    below: window.top + (window.end - window.first) * extent.row - offset - extent.view,
  };
}

describe('the window of a table', () => {
  it('has few rows, all of them there, wherever it is', () => {
    fc.assert(
      fc.property(extents, fc.nat(20_000_000), (extent, scroll) => {
        const { first, end, height } = windowOf(extent, scroll);
        expect(first).toBeGreaterThanOrEqual(0);
        expect(end).toBeLessThanOrEqual(extent.count);
        expect(end - first).toBeLessThanOrEqual(Math.ceil(extent.view / extent.row) + 1 + 2 * OVERSCAN);
        expect(height).toBeLessThanOrEqual(15_000_000);
      }),
    );
  });

  it('leaves no place empty that a row belongs to', () => {
    fc.assert(
      fc.property(extents, fc.double({ min: 0, max: 1, noNaN: true }), (extent, share) => {
        const { height } = windowOf(extent, 0);
        const scroll = share * Math.max(0, height - extent.view);
        const window = windowOf(extent, scroll, 0);
        const { above, below } = seen(extent, scroll, window);
        if (window.first > 0) expect(above).toBeLessThanOrEqual(0.01);
        if (window.end < extent.count) expect(below).toBeGreaterThanOrEqual(-0.01);
      }),
    );
  });

  it('shows the first row at its beginning and the last one at its end', () => {
    fc.assert(
      fc.property(extents, (extent) => {
        if (extent.count === 0) return;
        const { height } = windowOf(extent, 0);
        expect(windowOf(extent, 0).first).toBe(0);
        expect(windowOf(extent, height).end).toBe(extent.count);
      }),
    );
  });

  it('scrolls to a row so that it is seen whole, and not at all when it is', () => {
    fc.assert(
      fc.property(extents, fc.nat(), fc.double({ min: 0, max: 1, noNaN: true }), (extent, pick, share) => {
        if (extent.count === 0 || extent.view < extent.row) return;
        const { height } = windowOf(extent, 0);
        const before = share * Math.max(0, height - extent.view);
        const index = pick % extent.count;
        const after = scrollToRow(extent, before, index);
        const { first, end } = windowOf(extent, after, 0);
        expect(index).toBeGreaterThanOrEqual(first);
        expect(index).toBeLessThan(end);
        expect(scrollToRow(extent, after, index)).toBeCloseTo(after, 3);
      }),
    );
  });
});
