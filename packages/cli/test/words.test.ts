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

test.each(['~', '~root/x', 'a=~', 'PATH=/bin:~/bin', '{a,b}', '{1..3}'])('%s is not expanded', (word) => {
  const line = joinWords(['printf', '%s', word]);
  expect(execFileSync('/bin/bash', ['-c', line]).toString()).toBe(word);
});

test('a word in which a tilde or braces mean nothing is left as it is', () => {
  const words = ['find', 'HEAD~1', '-exec', 'echo', '{}', '+'];
  expect(joinWords(words)).toBe(words.join(' '));
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
