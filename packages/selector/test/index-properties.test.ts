import { compileText, type Entry, type Expression, parseSelector, SelectorIndex } from '@muster/selector';
import fc from 'fast-check';
import { expect, it } from 'vitest';

/** Few names and values, so that events hit; of every kind of condition that is indexed, and some that are not. */
const names = ['a', 'b', 'c', 'd', 'my-attr'];
const name = fc.constantFrom('a', 'b', 'c', 'd', '"my-attr"');
/** As the right side of a comparison. */
const right = name.map((each) => `(${each})`);
const text = fc.constantFrom('x', 'xy', 'xyz', 'y', '8', '8.0', '80', '-1', '*', '');
const number = fc.constantFrom('8', '8.0', '80', '-1', '0', '9.5');
const literal = fc.oneof(
  text.map((each) => `'${each}'`),
  number,
);
const list = fc.array(literal, { minLength: 1, maxLength: 4 }).map((options) => options.join(', '));
const not = fc.constantFrom('', 'NOT ');

const condition = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(name, literal).map(([a, value]) => `${a} = ${value}`) },
  { weight: 1, arbitrary: fc.tuple(name, literal).map(([a, value]) => `${value} = ${a}`) },
  { weight: 1, arbitrary: fc.tuple(name, literal).map(([a, value]) => `${a} <> ${value}`) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(name, fc.constantFrom('<', '<=', '>', '>='), number, fc.boolean())
      .map(([a, operator, value, flip]) => (flip ? `${value} ${operator} ${a}` : `${a} ${operator} ${value}`)),
  },
  { weight: 3, arbitrary: fc.tuple(name, not, list).map(([a, no, options]) => `${a} ${no}IN (${options})`) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(name, not, fc.constantFrom('x%', 'xy%', 'xy', '%', '_y%', '!%%', 'x!_%'))
      .map(([a, no, pattern]) => `${a} ${no}LIKE '${pattern}' ESCAPE '!'`),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(name, not, fc.oneof(number, name), fc.oneof(number, name))
      .map(([a, no, low, high]) => `${a} ${no}BETWEEN ${low} AND ${high}`),
  },
  { weight: 1, arbitrary: fc.tuple(name, not).map(([a, no]) => `${a} IS ${no}NULL`) },
  { weight: 1, arbitrary: fc.tuple(name, name).map(([a, b]) => `${a} + 1 >= ${b}`) },
  { weight: 1, arbitrary: fc.tuple(name, fc.constantFrom('=', '<>'), right).map((words) => words.join(' ')) },
  { weight: 1, arbitrary: fc.constantFrom('a', 'TRUE', 'FALSE', 'b = TRUE', 'c IN (FALSE)') },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom(...names), fc.constantFrom('x', 'x*', '8', '*', '?y*', '[8 TO 80]', '[xa TO *]', '>8'))
      .map((words) => words.join(':')),
  },
);

const selector = fc.oneof(
  { weight: 1, arbitrary: fc.constant('') },
  {
    weight: 20,
    arbitrary: fc.letrec<{ tree: string }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        condition,
        fc.array(tie('tree'), { minLength: 2, maxLength: 5 }).map((parts) => `(${parts.join(' AND ')})`),
        fc.array(tie('tree'), { minLength: 2, maxLength: 5 }).map((parts) => `(${parts.join(' OR ')})`),
        tie('tree').map((part) => `NOT ${part}`),
      ),
    })).tree,
  },
);

const event = fc.dictionary(fc.constantFrom(...names), text).map((attributes) => new Map(Object.entries(attributes)));

/** A selector to add, or which of the entries to remove. */
const step = fc.oneof(
  { weight: 4, arbitrary: selector.map((added) => ({ added })) },
  { weight: 1, arbitrary: fc.nat().map((removed) => ({ removed })) },
);

const parse = (of: string): Expression => parseSelector(of, { sugar: true });

function check(steps: readonly ({ added: string } | { removed: number })[], events: readonly Map<string, string>[]) {
  const index = new SelectorIndex<number>();
  const held: { entry: Entry<number>; id: number; expression: Expression }[] = [];
  const checkAll = () => {
    for (const each of events) {
      const expected = held.filter(({ expression }) => compileText(expression)(each)).map(({ id }) => id);
      const found: number[] = [];
      index.match(each, (id) => found.push(id));
      expect(found.sort((a, b) => a - b)).toEqual(expected.sort((a, b) => a - b));
    }
  };
  for (const [id, change] of steps.entries()) {
    if ('added' in change) {
      const expression = parse(change.added);
      held.push({ entry: index.add(expression, id), id, expression });
    } else if (held.length > 0) {
      const [gone] = held.splice(change.removed % held.length, 1);
      if (gone !== undefined) index.remove(gone.entry);
    }
    if (id % 50 === 0) checkAll();
  }
  checkAll();
  expect(index.size).toBe(held.length);
  for (const { entry } of held) index.remove(entry);
  held.length = 0;
  checkAll();
  expect(index.stats()).toEqual({ subscriptions: 0, expressions: 0, indexed: 0, unindexed: 0 });
}

it('finds what evaluating every selector finds, whatever was added and removed before', () => {
  fc.assert(fc.property(fc.array(step, { maxLength: 30 }), fc.array(event, { maxLength: 5 }), check), { numRuns: 500 });
});

it('finds what evaluating every selector finds among hundreds', () => {
  fc.assert(
    fc.property(
      fc.array(step, { minLength: 300, maxLength: 600, size: 'max' }),
      fc.array(event, { minLength: 5, maxLength: 20 }),
      check,
    ),
    { numRuns: 25 },
  );
});

it('finds intervals of any kind by their numbers', () => {
  const bound = fc.oneof(fc.integer({ min: -20, max: 20 }), fc.double({ noNaN: true, noDefaultInfinity: true }));
  const range = fc.oneof(
    fc.tuple(bound, bound).map(([low, high]) => `n BETWEEN ${low} AND ${high}`),
    fc.tuple(fc.constantFrom('<', '<=', '>', '>='), bound).map(([operator, end]) => `n ${operator} ${end}`),
    fc.tuple(bound, bound).map(([low, high]) => `n > ${low} AND n <= ${high}`),
  );
  const change = fc.oneof(
    { weight: 3, arbitrary: range.map((added) => ({ added })) },
    { weight: 1, arbitrary: fc.nat().map((removed) => ({ removed })) },
  );
  fc.assert(
    fc.property(
      fc.array(change, { minLength: 40, maxLength: 200, size: 'max' }),
      fc.array(
        bound.map((n) => new Map([['n', String(n)]])),
        { minLength: 5, maxLength: 20 },
      ),
      check,
    ),
    { numRuns: 100 },
  );
});

it('finds prefixes of any length by the texts that start with them', () => {
  const letters = (maxLength: number) => fc.string({ maxLength, unit: fc.constantFrom('a', 'b', '\u{1f600}') });
  const change = fc.oneof(
    { weight: 3, arbitrary: letters(4).map((prefix) => ({ added: `t LIKE '${prefix}%'` })) },
    { weight: 1, arbitrary: fc.nat().map((removed) => ({ removed })) },
  );
  fc.assert(
    fc.property(
      fc.array(change, { minLength: 40, maxLength: 200, size: 'max' }),
      fc.array(
        letters(6).map((text) => new Map([['t', text]])),
        { minLength: 5, maxLength: 20 },
      ),
      check,
    ),
    { numRuns: 100 },
  );
});
