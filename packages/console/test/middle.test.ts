import { expect, it } from 'vitest';
import { cutInTheMiddle } from '../src/parts/middle.js';

it.each([
  ['web1', 'web1'],
  ['1234567890', '1234567890'],
  ['/srv/jobs/archive/alice/out.txt', '/sr…ut.txt'],
])('cuts %j to %j', (text, cut) => {
  expect(cutInTheMiddle(text, 10)).toBe(cut);
});
