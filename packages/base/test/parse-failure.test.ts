import { expect, test } from 'vitest';
import { parseFailure } from '../src/index.js';

test('what a parser says is wrong is one line, without an excerpt of the file', () => {
  const said = 'Nested mappings are not allowed in compact mappings at line 1, column 9';
  expect(parseFailure(new Error(`${said}:\n\nsecret: a: b\n        ^\n`))).toBe(said);
  expect(parseFailure(new Error('Unexpected token \'s\', "{\n  s"... is not valid JSON'))).toBe(
    'Unexpected token \'s\', "{ s"... is not valid JSON',
  );
  expect(parseFailure('why')).toBe('why');
});
