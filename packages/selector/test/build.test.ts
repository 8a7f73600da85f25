import { and, compileText, equal, or, parseSelector, print, startsWith } from '@muster/selector';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const sql = (text: string) => parseSelector(text, { sugar: false });
const printed = (...texts: string[]) => print(and(...texts.map(sql)));

describe('and', () => {
  it('narrows what was asked for to what is allowed', () => {
    expect(print(and(equal('org', 'default'), sql("type = 'a' OR type = 'b'")))).toBe(
      "org = 'default' AND (type = 'a' OR type = 'b')",
    );
  });

  it('takes an AND inside apart', () => {
    expect(printed('a = 1 AND b = 2', 'c = 3')).toBe('a = 1 AND b = 2 AND c = 3');
  });

  it('of everything and something is that', () => {
    expect(printed('', 'a = 1', '')).toBe('a = 1');
  });

  it('of nothing, or of everything, is everything', () => {
    expect(and()).toEqual({ kind: 'everything' });
    expect(printed('', '')).toBe('');
  });
});

describe('or', () => {
  it('holds where one holds', () => {
    expect(print(or(equal('a', 1), sql("b = 'x' OR c"), equal('d', true)))).toBe("a = 1 OR b = 'x' OR c OR d = TRUE");
  });

  it('of everything and something is everything', () => {
    expect(or(sql(''), sql('a = 1'))).toEqual({ kind: 'everything' });
  });

  it('of nothing holds nowhere', () => {
    expect(print(or())).toBe('FALSE');
  });
});

it('what is built prints as a selector that parses to the same', () => {
  const built = and(equal('org', "it's"), or(startsWith('type', 'push.'), startsWith('type', '50%_!')));
  expect(sql(print(built))).toEqual(built);
});

it('startsWith takes its prefix as text', () => {
  const text = fc.string({ maxLength: 6, unit: fc.constantFrom(...'a%_!\\\u{1f600}') });
  fc.assert(
    fc.property(text, text, (prefix, value) => {
      expect(compileText(startsWith('a', prefix))(new Map([['a', value]]))).toBe(value.startsWith(prefix));
    }),
    { numRuns: 1000 },
  );
});
