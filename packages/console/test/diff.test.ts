import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diffOf } from '../src/output/diff.js';

const lines = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 8 });

/** The longest list that both have in their order, the slow way. */
function longest(a: readonly string[], b: readonly string[]): number {
  const [first, ...rest] = a;
  if (first === undefined) return 0;
  const at = b.indexOf(first);
  return Math.max(longest(rest, b), at < 0 ? 0 : 1 + longest(rest, b.slice(at + 1)));
}

describe('the difference of two outputs', () => {
  it('has both of them in it, and as few changes as there can be', () => {
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const changes = diffOf(before, after) ?? [];
        const without = (kind: string) => changes.flatMap((each) => (each.kind === kind ? [] : [each.line]));
        expect(without('new')).toEqual(before);
        expect(without('gone')).toEqual(after);
        expect(changes.filter(({ kind }) => kind === 'same').length).toBe(longest(before, after));
      }),
    );
  });

  it('is not looked for in what is too long', () => {
    expect(diffOf(Array(401).fill('a'), ['a'])).toBeNull();
  });
});
