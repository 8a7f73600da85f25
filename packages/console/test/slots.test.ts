import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Slots, slotsFor } from '../src/table/slots.js';

const keys = fc.uniqueArray(fc.constantFrom(...'abcdefghijklmnop'), { maxLength: 8 });

describe('the places of the rows that are drawn', () => {
  it('are kept by rows that stay, and taken by those that come before there are more', () => {
    fc.assert(
      fc.property(fc.array(keys, { minLength: 1 }), (steps) => {
        let before: Slots = new Map();
        for (const step of steps) {
          const after = slotsFor(before, step);
          expect([...after.keys()].sort()).toEqual([...step].sort());
          expect(new Set(after.values()).size).toBe(step.length);
          for (const key of step) if (before.has(key)) expect(after.get(key)).toBe(before.get(key));
          const made = [...after.values()].filter((slot) => ![...before.values()].includes(slot)).length;
          expect(made).toBe(Math.max(0, step.length - before.size));
          before = after;
        }
      }),
    );
  });
});
