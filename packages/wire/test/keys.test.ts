import { constants, createPublicKey, generateKeyPairSync, publicEncrypt } from 'node:crypto';
import { MusterError } from '@muster/base';
import { generateKeyPair, normalizePublicKey } from '@muster/signing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SIGNING_KEY, SIGNING_PUBLIC_KEY } from '../../signing/test/vectors.js';
import { decryptSessionKey, encryptSessionKey, newSessionKey } from '../src/session-key.js';
import { z85Decode, z85Encode } from '../src/z85.js';

/** Self-signed for the key of the sheet's vectors. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIDCzCCAfOgAwIBAgIUaEUjWe3+b81Q6AJoNKZJMQphFmAwDQYJKoZIhvcNAQEL
BQAwFDESMBAGA1UEAwwJc3BlYy11c2VyMCAXDTI2MTEyMDA4NDAwOVoYDzIxMjYx
MDI3MDg0MDA5WjAUMRIwEAYDVQQDDAlzcGVjLXVzZXIwggEiMA0GCSqGSIb3DQEB
AQUAA4IBDwAwggEKAoIBAQDS56qjvoxe4/pepkEgsXOIf/0AjsLo9o3lbR1K+Sv3
IifIYdLP8hHX7i2q8/aqV8pUojgI/oEUfbnUW32oxQG4CyeUBVDXPR7EO0gUU7JA
J1HuJeaMEhYxJLhu4HBFBfAMruJ3U7G1TbepUm/7HARXQjNppImZoYshu9EEP6pq
19S5AkExT/TgN0kjC8u1kFh0LbbX2bl1QFBprhuKYv5g30RywPMP2H1TFCjlF4rt
vdw0zMkEolYvMUFwm548zMCcsWS2v9G59fjCld7pcnGhU9oejvYaisuTCdDQdgxN
jyt6FPiYOLUUj3r0scIUVoUdIBpGfB1dpCQmZJ9zHMJhAgMBAAGjUzBRMB0GA1Ud
DgQWBBRm0L6MLKkBXhgDdP5EafMhArd/rjAfBgNVHSMEGDAWgBRm0L6MLKkBXhgD
dP5EafMhArd/rjAPBgNVHRMBAf8EBTADAQH/MA0GCSqGSIb3DQEBCwUAA4IBAQC7
7qk37DLm1OKyyJa0LfFw57OcOkS4IJssy10rt4IC7uwbg0K06lOHX+P4Xb+L6AjZ
xmVm5tgKYZ382XY4NdSjzDd/mhSkTR512YlH1gVpaQfHdDDi/tzwB8sEV0d0ue0F
rWNqP6V9j5yHjf7aZaMRwgHQa/Wa/hUcBULRJ0cGxGFQsMmYUAd4VAJPFL6jnTGH
W6BpGu5SJealhZKoJ/xH7KsGtS/YqqkJ1c1/I2LyU5oNpTQeMIfEP3FQ3+gjfAW9
ouuYZ45kC5bNMxp9y6UbLtbEbrbAchEZKgFezmpbs0O9ujOyr3mQjfpxvZQTHK1s
p12gsPYqWL4pmWSg0Wod
-----END CERTIFICATE-----
`;

it('a generated pair is RSA of 2048 bits, SPKI and PKCS#8', async () => {
  const pair = await generateKeyPair();
  expect(pair.publicKey).toMatch(/^-----BEGIN PUBLIC KEY-----/);
  expect(pair.privateKey).toMatch(/^-----BEGIN PRIVATE KEY-----/);
  expect(normalizePublicKey(pair.publicKey).pem).toBe(pair.publicKey);
});

it('SPKI, PKCS#1 and certificate of one key have one form and one fingerprint', () => {
  const spki = normalizePublicKey(SIGNING_PUBLIC_KEY);
  const pkcs1 = createPublicKey(SIGNING_PUBLIC_KEY).export({ type: 'pkcs1', format: 'pem' }).toString();
  expect(spki.pem).toBe(SIGNING_PUBLIC_KEY);
  expect(spki.fingerprint).toMatch(/^[0-9a-f]{64}$/);
  expect(normalizePublicKey(pkcs1)).toEqual(spki);
  expect(normalizePublicKey(CERTIFICATE)).toEqual(spki);
});

const short = generateKeyPairSync('rsa', {
  modulusLength: 1024,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
const elliptic = generateKeyPairSync('ec', { namedCurve: 'P-256' });

it.each([
  ['a short key', short.publicKey],
  ['an elliptic key', elliptic.publicKey.export({ type: 'spki', format: 'pem' }).toString()],
  ['a private key', SIGNING_KEY],
  ['no PEM', 'ssh-rsa AAAA'],
  ['broken PEM', '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n'],
  ['too much PEM', `${SIGNING_PUBLIC_KEY}${'\n'.repeat(20_000)}`],
])('%s is refused as a public key', (_, pem) => {
  expect(() => normalizePublicKey(pem)).toThrow(MusterError);
});

it('Z85 encodes the sample of ZeroMQ RFC 32', () => {
  expect(z85Encode(Uint8Array.from([0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b]))).toBe('HelloWorld');
});

it('Z85 of 32 bytes reads back', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
      expect(Uint8Array.from(z85Decode(z85Encode(bytes)) ?? [])).toEqual(bytes);
    }),
  );
});

it.each([
  ['39 characters', '0'.repeat(39)],
  ['41 characters', '0'.repeat(41)],
  ['a character outside the alphabet', `${'0'.repeat(39)}"`],
  ['a group above 32 bits', `${'0'.repeat(35)}#####`],
  ['characters beyond ASCII', `${'0'.repeat(38)}\u{1f600}`],
  ['nothing', ''],
])('%s are not Z85 of a key', (_, text) => {
  expect(z85Decode(text)).toBeNull();
});

it('the largest group of Z85 is 32 bits of ones', () => {
  expect(z85Encode(new Uint8Array(32).fill(255))).toBe('%nSc0'.repeat(8));
  expect(z85Decode('%nSc0'.repeat(8))).toEqual(Buffer.alloc(32, 255));
  expect(z85Decode('%nSc1'.repeat(8))).toBeNull();
});

it('a session key reaches the owner of the public key', () => {
  const key = newSessionKey();
  expect(key.length).toBe(32);
  expect(decryptSessionKey(encryptSessionKey(key, SIGNING_PUBLIC_KEY), SIGNING_KEY)).toEqual(key);
});

it('each session key is another', () => {
  expect(newSessionKey()).not.toEqual(newSessionKey());
});

it('whatever is wrong with an encrypted session key, the error is the same', () => {
  const good = encryptSessionKey(newSessionKey(), SIGNING_PUBLIC_KEY);
  const shorter = encryptSessionKey(new Uint8Array(31), SIGNING_PUBLIC_KEY);
  const raw = publicEncrypt({ key: SIGNING_PUBLIC_KEY, padding: constants.RSA_NO_PADDING }, Buffer.alloc(256, 1));
  const messages = ['', 'x', good.slice(4), `AAAA${good}`, shorter, raw.toString('base64')].map((encrypted) => {
    try {
      return decryptSessionKey(encrypted, SIGNING_KEY);
    } catch (error) {
      return error instanceof MusterError ? error.message : error;
    }
  });
  expect(new Set(messages).size).toBe(1);
  expect(messages[0]).toMatch(/^invalid encoded_session_key/);
  expect(() => decryptSessionKey(good, short.privateKey)).toThrow(MusterError);
});
