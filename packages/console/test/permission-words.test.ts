import { expect, it } from 'vitest';
import { inWords } from '../src/access/words.js';

it.each([
  [
    'bob may not run commands on db1: push:write is missing.',
    'bob may not run commands on db1: “run on all” (push:write) is missing.',
  ],
  ['by push:writer', 'by push:writer'],
  ['by event:read', 'by event:read'],
])('says %j as %j', (said, words) => {
  expect(inWords(said)).toBe(words);
});
