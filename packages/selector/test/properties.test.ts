import {
  type Condition,
  compile,
  type Expression,
  parseSelector,
  print,
  type Scalar,
  SelectorError,
  type Value,
} from '@muster/selector';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const KEYWORDS = new Set('and or not between like escape in is null true false'.split(' '));
const plainName = fc.stringMatching(/^[A-Za-z_$][\w$.]{0,8}$/).filter((name) => !KEYWORDS.has(name.toLowerCase()));
/** Such as need double quotes. */
const anyName = fc.oneof(
  fc.constantFrom(...KEYWORDS),
  fc.string({ minLength: 1, maxLength: 8, unit: fc.constantFrom(...'ab-"\'* ():1\n\u00e9\u{1f600}') }),
);
const attributeName = fc.oneof(plainName, anyName);
const text = fc.string({ maxLength: 12, unit: fc.constantFrom(...'ab%_*?\'"\\ ():é\u{1f600}') });
const number = fc.double({ noDefaultInfinity: true, noNaN: true }).map((value) => (value === 0 ? 0 : value));
const scalar: fc.Arbitrary<Scalar> = fc.oneof(text, number, fc.boolean());

const value = fc.letrec<{ value: Value; number: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    scalar.map((value) => ({ kind: 'literal' as const, value })),
    tie('number'),
  ),
  number: fc.oneof(
    { maxDepth: 4 },
    attributeName.map((name) => ({ kind: 'attribute' as const, name })),
    number.map((value) => ({ kind: 'literal' as const, value })),
    fc.record({ kind: fc.constant('negate' as const), operand: tie('number') }),
    fc.record({
      kind: fc.constant('arithmetic' as const),
      operator: fc.constantFrom('+', '-', '*', '/', '%'),
      left: tie('number'),
      right: tie('number'),
    }),
  ),
}));

const negated = fc.boolean();
const operands = (of: fc.Arbitrary<Condition>) => fc.array(of, { minLength: 2, maxLength: 3 });

const leaf: fc.Arbitrary<Condition> = fc.oneof(
  fc.boolean().map((value) => ({ kind: 'literal' as const, value })),
  fc.record({
    kind: fc.constant('comparison' as const),
    operator: fc.constantFrom('=', '<>'),
    left: value.value,
    right: value.value,
  }),
  fc.record({
    kind: fc.constant('comparison' as const),
    operator: fc.constantFrom('<', '<=', '>', '>='),
    left: value.number,
    right: value.number,
  }),
  fc.record({
    kind: fc.constant('between' as const),
    value: value.number,
    low: value.number,
    high: value.number,
    negated,
  }),
  fc.record({
    kind: fc.constant('in' as const),
    value: value.value,
    options: fc.array(scalar, { minLength: 1, maxLength: 4 }),
    negated,
  }),
  fc.record({
    kind: fc.constant('like' as const),
    value: value.value,
    pattern: text,
    escape: fc.constantFrom(null, '!'),
    negated,
  }),
  fc.record({ kind: fc.constant('null' as const), value: value.value, negated }),
);

const attributeAsCondition = attributeName.map((name) => ({ kind: 'attribute' as const, name }));

const bound = fc.option(fc.record({ text, inclusive: fc.boolean() }));
const sugarField = fc.stringMatching(/^[A-Za-z_$][\w$.-]{0,8}$/);
const sugarLeaf: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({ kind: fc.constant('match' as const), attribute: sugarField, text }),
  fc.record({
    kind: fc.constant('glob' as const),
    attribute: sugarField,
    pattern: fc.stringMatching(/^([a-z.*?-]|\\[ *?"()a]){0,8}\*([a-z]|\\[*?\\]){0,3}$/),
  }),
  fc.record({ kind: fc.constant('range' as const), attribute: sugarField, low: bound, high: bound }),
  fc.constant({ kind: 'everything' as const }),
);

function tree(leaves: fc.Arbitrary<Condition>): fc.Arbitrary<Condition> {
  return fc.letrec<{ condition: Condition }>((tie) => ({
    condition: fc.oneof(
      { maxDepth: 4 },
      leaves,
      fc.record({ kind: fc.constant('not' as const), operand: tie('condition') }),
      fc.record({ kind: fc.constantFrom('and' as const, 'or' as const), operands: operands(tie('condition')) }),
    ),
  })).condition;
}

describe('print, then parse', () => {
  it('gives the same tree', () => {
    fc.assert(
      fc.property(tree(fc.oneof(leaf, attributeAsCondition)), (expression) => {
        expect(parseSelector(print(expression), { sugar: false })).toEqual(expression);
      }),
      { numRuns: 500 },
    );
  });

  it('gives the same tree with sugar', () => {
    fc.assert(
      fc.property(tree(fc.oneof(leaf, sugarLeaf)), (expression) => {
        expect(parseSelector(print(expression), { sugar: true })).toEqual(expression);
      }),
      { numRuns: 500 },
    );
  });
});

/** Text that comes far: the grammar's own words in any order. */
const words = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ...'AND OR NOT LIKE BETWEEN IN IS NULL ESCAPE TRUE ( ) ( ) , = <> < >= + - * / % -- /* */'.split(' '),
        ...[
          "'x'",
          "'",
          '"y"',
          '"b-c"',
          '"z""',
          '"',
          '8',
          '1.5',
          '017',
          '0x1fL',
          'a',
          'b-c',
          'role:web',
          'cpus:[1 TO 2]',
          'n:>3',
          'w*',
          '*:*',
          '\\',
          ':',
          '[',
          '}',
        ],
      ),
      fc.string({ maxLength: 3, unit: 'binary' }),
    ),
    { maxLength: 30 },
  )
  .chain((parts) => fc.constantFrom(parts.join(' '), parts.join('')));

const attributes = fc.dictionary(
  fc.constantFrom('a', 'b', 'name', 'role', 'cpus', 'n'),
  fc.oneof(fc.string(), fc.double(), fc.boolean(), fc.constant(null), fc.constant(undefined)),
);

it.each([true, false])('arbitrary text (sugar: %s) is parsed and answered, or refused with a place in it', (sugar) => {
  fc.assert(
    fc.property(fc.oneof(words, fc.string({ unit: 'binary' })), attributes, (text, attributes) => {
      let expression: Expression;
      try {
        expression = parseSelector(text, { sugar });
      } catch (error) {
        if (!(error instanceof SelectorError)) throw error;
        expect(error.position).toBeGreaterThanOrEqual(0);
        expect(error.position).toBeLessThanOrEqual(text.length);
        expect(error.reason).not.toBe('');
        expect(error.hint).not.toBe('');
        return;
      }
      expect(typeof compile(expression)(attributes)).toBe('boolean');
      expect(parseSelector(print(expression), { sugar })).toEqual(expression);
    }),
    { numRuns: 2000 },
  );
});

it('a wildcard matches what the same regular expression matches', () => {
  const letters = fc.string({ maxLength: 12, unit: fc.constantFrom('a', 'b') });
  const pattern = fc.string({ maxLength: 8, unit: fc.constantFrom('a', 'b', '%', '_') });
  fc.assert(
    fc.property(pattern, letters, (like, text) => {
      const expected = new RegExp(`^${like.replaceAll('%', '.*').replaceAll('_', '.')}$`).test(text);
      expect(compile(parseSelector(`x LIKE '${like}'`, { sugar: false }))({ x: text })).toBe(expected);
    }),
    { numRuns: 2000 },
  );
});

describe('three-valued logic', () => {
  const truth = (of: Condition, about: Record<string, string | number | boolean | null | undefined>) => {
    if (compile(of)(about)) return true;
    return compile({ kind: 'not', operand: of })(about) ? false : null;
  };
  const not = (operand: Condition): Condition => ({ kind: 'not', operand });
  const about = fc.dictionary(
    fc.constantFrom('a', 'b', 'name', 'role', 'cpus', 'n'),
    fc.oneof(text, number, fc.boolean(), fc.constant(null)),
  );
  const known = tree(fc.oneof(leaf, attributeAsCondition));

  it.each([
    ['and', 'or'],
    ['or', 'and'],
  ] as const)('NOT (a %s b) is NOT a %s NOT b (De Morgan)', (kind, dual) => {
    fc.assert(
      fc.property(operands(known), about, (parts, attributes) => {
        expect(truth(not({ kind, operands: parts }), attributes)).toBe(
          truth({ kind: dual, operands: parts.map(not) }, attributes),
        );
      }),
      { numRuns: 500 },
    );
  });

  it('NOT NOT a is a', () => {
    fc.assert(
      fc.property(known, about, (condition, attributes) => {
        expect(truth(not(not(condition)), attributes)).toBe(truth(condition, attributes));
      }),
    );
  });

  it('a <= 1 OR a > 1 is unknown, not true, without a (S-12)', () => {
    expect(truth(parseSelector('a <= 1 OR a > 1', { sugar: false }), {})).toBe(null);
  });
});
