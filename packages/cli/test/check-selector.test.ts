import { expect, test } from 'vitest';
import { checkSelector } from '../src/commands/event/check-selector.js';

function noted(selector: string): string[] {
  const notes: string[] = [];
  checkSelector({ note: (text) => notes.push(text) }, selector);
  return notes;
}

test.each([
  ["my-attr = 'x' AND a.b-c-d > 1 AND my-attr <> 'y'", ['my-attr', 'a.b-c-d']],
  ['message-id > 1', ['message-id']],
])('%s: names that are subtracted are told', (selector, names) => {
  expect(noted(selector)).toEqual(
    names.map((name) => `${name} is a subtraction here; an attribute of that name is written "${name}"`),
  );
});

test('text without quotes is told to be an attribute', () => {
  expect(noted('type = temp.high')).toEqual([
    "warning: type = temp.high compares the attributes 'type' and 'temp.high'; for the text write type = 'temp.high'",
  ]);
});

test.each(["type = 'my-attr'", '"my-attr" = \'x\' -- my-attr', 'a - b > 1 /* my-attr */', 'a-1 > 0', "a = 'it''s-so'"])(
  '%s: nothing is told',
  (selector) => {
    expect(noted(selector)).toEqual([]);
  },
);

test('a mistake is shown with its place', () => {
  const notes: string[] = [];
  expect(() => checkSelector({ note: (text) => notes.push(text) }, 'type = AND')).toThrow('character 7');
  expect(notes).toEqual(['  type = AND\n         ^']);
});
