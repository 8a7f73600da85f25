import { readFileSync } from 'node:fs';
import { compileText, parseSelector, SELECTOR_LIMITS, SelectorError, SelectorIndex } from '@muster/selector';
import { expect, it } from 'vitest';

const page = readFileSync(new URL('../../../docs/reference/selectors.md', import.meta.url), 'utf8');

function section(title: string): string {
  const [, text = ''] = page.split(`\n## ${title}\n`);
  return text.split('\n## ', 1)[0] ?? '';
}

const examples = [...section('Examples').matchAll(/^\| `(.+?)` \|/gm)].map(([, selector = '']) => selector);
const errors = [...section('Errors').matchAll(/^(\S.*?) {2,}(character .+)$/gm)].map(([, text = '', error = '']) => [
  text,
  error,
]);

it('there are examples', () => {
  expect([examples.length, errors.length]).toEqual([10, 3]);
});

it.each(examples)('the example %s is a selector', (selector) => {
  expect(parseSelector(selector, { sugar: true })).toBeDefined();
});

it.each(errors)('the example %s is refused as shown', (text = '', error = '') => {
  expect(() => parseSelector(text, { sugar: true })).toThrow(SelectorError);
  expect(() => parseSelector(text, { sugar: true })).toThrow(`at ${error}`);
});

/** The rows of the tables of a section, without their heads, as cells. */
function rows(title: string): string[][] {
  const lines = section(title).split('\n');
  return lines
    .filter((line, n) => line.startsWith('| ') && !lines[n + 1]?.startsWith('|---'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replace(/^`(.*)`$/, '$1')),
    );
}

const VALUES = ['81', '81.0', 'warm', undefined];

it.each(rows('Attributes of events'))('of events, %s is as the table says', (selector = '', ...expected) => {
  const holds = (text: string, value: string | undefined) =>
    compileText(parseSelector(text, { sugar: false }))({ get: () => value });
  const found = VALUES.map((value) => (holds(selector, value) ? 'T' : holds(`NOT (${selector})`, value) ? 'F' : 'U'));
  expect(found).toEqual(expected);
});

it('the limits are those of the code', () => {
  const shown = rows('Limits').map(([, most = '']) => Number.parseInt(most.replaceAll(',', ''), 10));
  const { textLength, nesting, inList, arithmeticOperators, patternLength } = SELECTOR_LIMITS;
  const { indexClauses, indexPins, indexPlaces, indexDepth } = SELECTOR_LIMITS;
  expect(shown).toEqual([
    ...[textLength, nesting, inList, arithmeticOperators, patternLength],
    ...[indexClauses, indexPins, indexPlaces, indexDepth],
  ]);
});

it.each(["a = 'x'", "a LIKE 'push.%'", 'a > 1', 'a + 1 = b', 'a IS NOT NULL', 'NOT a IS NULL'])(
  'the index asks something for %s, as the table says',
  (selector) => {
    expect(unindexed(selector)).toBe(0);
  },
);

it.each(['a IS NULL', 'NOT a:x', ''])('the index asks nothing for %j, as the table says', (selector) => {
  expect(unindexed(selector)).toBe(1);
});

function unindexed(selector: string): number {
  const index = new SelectorIndex<null>();
  index.add(parseSelector(selector, { sugar: true }), null);
  return index.stats().unindexed;
}
