import { readMinisignKey } from '@muster/signing';
import { expect, test } from 'vitest';
import { mistaken, signedRelease } from '../../src/upgrade/release.js';
import { newReleaseKey } from '../support/release.js';

const key = newReleaseKey();
const pinned = readMinisignKey(key.publicKey);
const sums = `${'a'.repeat(64)}  muster\n${'b'.repeat(64)}  muster_1.2.0_amd64.deb\n`;
const comment = 'muster 1.2.0 for linux-x64, commit 0123abc';
const read = (text = sums, said = comment) => signedRelease(text, key.sign(text, said), pinned);

test('a signed release says its version, its platform, and which executable is its own', () => {
  expect(read()).toEqual({ version: '1.2.0', platform: 'linux-x64', sha256: 'a'.repeat(64) });
});

test('one that another key has signed is refused', () => {
  expect(() => signedRelease(sums, newReleaseKey().sign(sums, comment), pinned)).toThrow(
    'it was signed with another key',
  );
});

test('what the same key has signed of another product is refused', () => {
  expect(() => read(sums, 'ledger 1.2.0 for linux-x64, commit 0123abc')).toThrow('not a release of muster');
});

test('a release that names no executable, or two, is refused', () => {
  expect(() => read(`${'b'.repeat(64)}  muster.deb\n`)).toThrow('does not name the executable muster once');
  expect(() => read(`${sums}${'c'.repeat(64)}  muster\n`)).toThrow('does not name the executable muster once');
});

test('another version than was asked for, and another platform, are refused', () => {
  expect(mistaken(read(), '1.2.0', 'linux-x64')).toBeNull();
  expect(mistaken(read(), '1.3.0', 'linux-x64')).toBe('the release is version 1.2.0, not 1.3.0');
  expect(mistaken(read(), '1.2.0', 'linux-arm64')).toBe('the release is for linux-x64, and this node is linux-arm64');
});
