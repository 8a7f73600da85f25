import { readFileSync } from 'node:fs';
import { parseSelector, SelectorError } from '@muster/selector';
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
  expect([examples.length, errors.length]).toEqual([7, 3]);
});

it.each(examples)('the example %s is a selector', (selector) => {
  expect(parseSelector(selector, { sugar: true })).toBeDefined();
});

it.each(errors)('the example %s is refused as shown', (text = '', error = '') => {
  expect(() => parseSelector(text, { sugar: true })).toThrow(SelectorError);
  expect(() => parseSelector(text, { sugar: true })).toThrow(`at ${error}`);
});
