import { systemRandom } from '@muster/platform/auth';
import { expect, test } from 'vitest';

test('random bytes are as many as asked for, and none are given twice', () => {
  const sizes = [16, 32, 4095, 1, 4096, 4097, 10_000, 16];
  expect(sizes.map((size) => systemRandom(size).length)).toEqual(sizes);

  const numbers = Array.from({ length: 5_000 }, () => Buffer.from(systemRandom(16)).toString('hex'));
  expect(new Set(numbers).size).toBe(5_000);
});

test('random bytes that are kept are nobody else’s', () => {
  const first = systemRandom(16);
  expect(first.buffer.byteLength).toBe(16);
  const kept = Buffer.from(first);
  for (let more = 0; more < 1_000; more++) systemRandom(16).fill(0xff);
  expect(Buffer.from(first)).toEqual(kept);
});
