import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { expect, it } from 'vitest';
import { readPublicKey } from '../src/keys.js';

it.each([2048, 3072])('reads an RSA key of %i bits as OpenSSL reads it', (modulusLength) => {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength });
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  expect(readPublicKey(pem).equals(createPublicKey(pem))).toBe(true);
});

it('reads a key that has no plain RSA key inside as OpenSSL does', () => {
  const { publicKey } = generateKeyPairSync('rsa-pss', { modulusLength: 2048 });
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  expect(readPublicKey(pem).equals(createPublicKey(pem))).toBe(true);
});

it('throws when there is no key', () => {
  expect(() => readPublicKey('-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n')).toThrow();
});
