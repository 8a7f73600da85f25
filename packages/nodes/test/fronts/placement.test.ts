import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { misplaced, type Spot, spotFor } from '../../src/fronts/placement.js';

interface Place extends Spot {
  weight: number;
  readonly nodes: Set<string>;
}

const places = fc.array(fc.record({ weight: fc.integer({ min: 0, max: 5 }), size: fc.integer({ min: 0, max: 40 }) }), {
  minLength: 1,
  maxLength: 6,
});
const made = (of: readonly { weight: number; size: number }[]): Place[] =>
  of.map(({ weight, size }, at) => ({
    weight,
    nodes: new Set(Array.from({ length: size }, (_, n) => `${at}:${n}`)),
  }));
const every = { told: new Set<string>(), mayMove: () => true };

function ask(node: string, among: readonly Place[]): Place {
  const spot = spotFor(node, among);
  if (spot === null) throw new Error('nowhere');
  for (const { nodes } of among) nodes.delete(node);
  spot.nodes.add(node);
  return spot;
}

describe('where nodes are', () => {
  test('there is no place where there is no spot', () => {
    expect(spotFor('n', [])).toBe(null);
  });

  test('is settled after so many moves as there are nodes, at most, and then nobody is sent elsewhere who asks', () => {
    fc.assert(
      fc.property(places, fc.integer({ min: 1, max: 9 }), (of, most) => {
        const among = made(of);
        const all = among.flatMap(({ nodes }) => [...nodes]);
        let moved = 0;
        for (;;) {
          const told = misplaced(among, { ...every, most });
          if (told.length === 0) break;
          expect(told.length).toBeLessThanOrEqual(most);
          for (const node of told) {
            const before = among.find(({ nodes }) => nodes.has(node));
            expect(ask(node, among)).not.toBe(before);
          }
          moved += told.length;
          expect(moved).toBeLessThanOrEqual(all.length);
        }
        for (const node of all) {
          const before = among.find(({ nodes }) => nodes.has(node));
          expect(ask(node, among)).toBe(before);
        }
      }),
    );
  });

  test('is nowhere of no weight, once all have moved, while there is another spot', () => {
    fc.assert(
      fc.property(places, (of) => {
        const among = made(of);
        fc.pre(among.some(({ weight }) => weight > 0));
        for (const node of misplaced(among, { ...every, most: 1000 })) ask(node, among);
        for (const { weight, nodes } of among) if (weight === 0) expect(nodes.size).toBe(0);
      }),
    );
  });

  test('is not changed of nodes that may not move, or are on their way', () => {
    const among = made([
      { weight: 0, size: 3 },
      { weight: 1, size: 0 },
    ]);
    const told = misplaced(among, { told: new Set(['0:0']), most: 10, mayMove: (node) => node !== '0:1' });
    expect(told).toEqual(['0:2']);
  });
});
