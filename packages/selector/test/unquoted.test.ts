import { expect, test } from 'vitest';
import { parseSelector, unquotedTexts } from '../src/index.js';

test.each([
  ['role = web', ['role = web']],
  ['role=web AND NOT (env <> prod OR env:x)', ['role = web', 'env <> prod']],
  ['host = web-1', ['host = web-1']],
  ['type = temp.high', ['type = temp.high']],
])('%s: text may have been meant', (selector, found) => {
  const all = unquotedTexts(parseSelector(selector, { sugar: true }));
  expect(all.map(({ attribute, operator, text }) => `${attribute} ${operator} ${text}`)).toEqual(found);
});

test('the attributes of such a text are named', () => {
  const [found] = unquotedTexts(parseSelector('host = web-eu-1', { sugar: true }));
  expect(found?.names).toEqual(['web', 'eu']);
});

test.each([
  "role = 'web'",
  'role:web',
  'cpus = 8',
  'cpus = 8 - 1',
  'free < total',
  'free = total * 2',
  'web',
  "'x' = role",
])('%s: it is what it says', (selector) => {
  expect(unquotedTexts(parseSelector(selector, { sugar: true }))).toEqual([]);
});
