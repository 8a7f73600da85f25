import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { joinWords } from '../src/words.js';

test('one word is the requester’s own shell text', () => {
  expect(joinWords(['echo a; echo b'])).toBe('echo a; echo b');
});

test('several plain words are joined by spaces', () => {
  expect(joinWords(['chef-client', '-o', 'recipe[x]', '--env=prod'])).toBe('chef-client -o recipe[x] --env=prod');
});

test('a word with spaces stays one word', () => {
  expect(joinWords(['sh', '-c', 'exit 3'])).toBe("sh -c 'exit 3'");
});

test('a shell finds exactly the words that were typed', () => {
  const word = fc.string().filter((text) => !text.includes('\0'));
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 4 }), (words) => {
      const line = joinWords(['printf', '%s\\0', ...words]);
      expect(execFileSync('/bin/sh', ['-c', line]).toString()).toBe(words.map((one) => `${one}\0`).join(''));
    }),
    { numRuns: 30 },
  );
});
