import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
// @ts-expect-error a script, which has no types
import { publicKeyFile, signatureFile, signingKey } from '../../../scripts/packages/signature.mjs';
import { readMinisignKey, verifyMinisign } from '../src/minisign.js';

const content = Buffer.from('0123  muster\n');
const made = () => signingKey(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }));
const key = made();
const pinned = readMinisignKey(publicKeyFile(key).split('\n')[1]);
const signature: string = signatureFile(content, key, 'muster 1.0.0');

test('what a release has signed is believed, and its comment told', () => {
  expect(verifyMinisign(content, signature, pinned)).toBe('muster 1.0.0');
});

test('one changed byte is noticed', () => {
  const changed = Buffer.from('0124  muster\n');
  expect(() => verifyMinisign(changed, signature, pinned)).toThrow('the file is not the one that was signed');
});

test('a changed comment is noticed', () => {
  expect(() => verifyMinisign(content, signature.replace('1.0.0', '2.0.0'), pinned)).toThrow(
    'the comment is not the one that was signed',
  );
});

test('the signature of another key is not believed', () => {
  expect(() => verifyMinisign(content, signatureFile(content, made(), 'muster 1.0.0'), pinned)).toThrow(
    'it was signed with another key',
  );
});

test('a key that only claims the number of the pinned one is not believed', () => {
  const posing = { ...made(), id: key.id };
  expect(() => verifyMinisign(content, signatureFile(content, posing, 'muster 1.0.0'), pinned)).toThrow(
    'the file is not the one that was signed',
  );
});

test('text that is no signature, or no key, is refused', () => {
  expect(() => verifyMinisign(content, 'x\ny\nz\n', pinned)).toThrow('not a signature of minisign');
  expect(() => readMinisignKey('RWabc')).toThrow('not a public key of minisign');
});
