import { constants, createHash, createPublicKey, privateEncrypt } from 'node:crypto';
import { normalizePublicKey } from '@muster/signing';
import { expect, it } from 'vitest';
import { MESSAGE_BODY, MESSAGE_KEY, MESSAGE_RSA_SIGNATURE, SIGNING_PUBLIC_KEY } from '../../signing/test/vectors.js';
import { formatHeader, parseHeader } from '../src/header.js';
import {
  signHmac,
  signRsaSha1,
  signRsaSha256,
  verifyHmac,
  verifyRsaSha1,
  verifyRsaSha256,
} from '../src/message-signing.js';

const hmacKey = Buffer.from('01234567890123456789012345678901');
const publicKey = createPublicKey(MESSAGE_KEY).export({ type: 'spki', format: 'pem' }).toString();

it('signs the vector of the sheet §3.9 with HMAC', () => {
  const signature = signHmac(hmacKey, MESSAGE_BODY);
  expect(signature).toBe('3OX7zAxVgH8Z8YGWL6ZYBN4n+AIPGNTqbHTB0Og7GMI=');
  expect(Buffer.from(formatHeader({ version: '2.0', method: 'hmac_sha256', signature })).toString()).toBe(
    'Version:2.0;SigningMethod:hmac_sha256;Signature:3OX7zAxVgH8Z8YGWL6ZYBN4n+AIPGNTqbHTB0Og7GMI=',
  );
  expect(verifyHmac(hmacKey, signature, MESSAGE_BODY)).toBe(true);
});

it('signs the agent heartbeat of the sheet §3.9', () => {
  const body =
    '{"node":"node1.example.com","client":"node1","protocol_version":"2.0","org":"acme","type":"heartbeat","sequence":1,"timestamp":"Sat, 12 May 2012 20:33:15 GMT","incarnation_id":"0f6a3c1e-6c1b-4f0e-9c0f-3a2b1c4d5e6f","job_state":"idle","job_id":null}';
  expect(Buffer.byteLength(body)).toBe(248);
  expect(signHmac(hmacKey, body)).toBe('HBzVR4DeWaxIcWww4yowDZCHPA6biW7L8jbLs5Kdcqc=');
});

it('signs the vector of the sheet §3.9 with rsa2048_sha1', () => {
  expect(createHash('sha1').update(MESSAGE_BODY).digest('base64')).toBe('KW4txWo/f2aRh22ZRHE7xugJtrg=');
  expect(signRsaSha1(MESSAGE_KEY, MESSAGE_BODY)).toBe(MESSAGE_RSA_SIGNATURE);
  expect(verifyRsaSha1(publicKey, MESSAGE_BODY, MESSAGE_RSA_SIGNATURE)).toBe(true);
});

it('reads a checksum that was encrypted as bytes, the other reading of Push Jobs §7.1.1', () => {
  const checksum = createHash('sha1').update(MESSAGE_BODY).digest();
  const encrypted = privateEncrypt({ key: MESSAGE_KEY, padding: constants.RSA_PKCS1_PADDING }, checksum);
  expect(verifyRsaSha1(publicKey, MESSAGE_BODY, encrypted.toString('base64'))).toBe(true);
});

it.each(['', '!', 'AAAA', 'not base64 at all', 'A'.repeat(344)])('the signature %j verifies nothing', (signature) => {
  expect(verifyHmac(hmacKey, signature, MESSAGE_BODY)).toBe(false);
  expect(verifyRsaSha1(publicKey, MESSAGE_BODY, signature)).toBe(false);
  expect(verifyRsaSha256(publicKey, MESSAGE_BODY, signature)).toBe(false);
});

it('another body or key does not verify', () => {
  const other = Buffer.from('{}');
  expect(verifyHmac(hmacKey, signHmac(hmacKey, MESSAGE_BODY), other)).toBe(false);
  expect(verifyHmac(Buffer.alloc(32), signHmac(hmacKey, MESSAGE_BODY), MESSAGE_BODY)).toBe(false);
  expect(verifyRsaSha1(publicKey, other, MESSAGE_RSA_SIGNATURE)).toBe(false);
  expect(verifyRsaSha1(SIGNING_PUBLIC_KEY, MESSAGE_BODY, MESSAGE_RSA_SIGNATURE)).toBe(false);
  expect(verifyRsaSha256(SIGNING_PUBLIC_KEY, MESSAGE_BODY, signRsaSha256(MESSAGE_KEY, MESSAGE_BODY))).toBe(false);
  expect(verifyRsaSha256(publicKey, other, signRsaSha256(MESSAGE_KEY, MESSAGE_BODY))).toBe(false);
});

it('an RSA-SHA256 signature verifies', () => {
  expect(verifyRsaSha256(publicKey, MESSAGE_BODY, signRsaSha256(MESSAGE_KEY, MESSAGE_BODY))).toBe(true);
  expect(normalizePublicKey(publicKey).pem).toBe(publicKey);
});

const parse = (text: string) => parseHeader(Buffer.from(text));

it('clauses come in any order, unknown ones are ignored, the last of several wins', () => {
  expect(parse('Nonsense;Signature:a;X:y:z;SigningMethod:hmac_sha256;Version:1.0;Version:2.0')).toMatchObject({
    version: '2.0',
    method: 'hmac_sha256',
    signature: 'a',
  });
});

it('SignedChecksum is another name of Signature (sheet §3.3)', () => {
  expect(parse('Version:2.0;SigningMethod:hmac_sha256;SignedChecksum:a')).toMatchObject({ signature: 'a' });
  expect(parse('Version:2.0;Signature:b;SignedChecksum:a')).toMatchObject({ signature: 'a' });
});

it.each(['', 'garbage', 'Signature:a', 'Version:2.1;Signature:a', 'Version: 2.0', 'Version:2.0.0', 'version:2.0'])(
  'the header %j is bad',
  (text) => {
    expect(parse(text)).toBeNull();
  },
);

it('an unknown signing method is no bad header, but no method either', () => {
  expect(parse('Version:2.0;SigningMethod:md5;Signature:a')).toMatchObject({ method: null });
});

it.each(['0', '-1', '01', '1.0', '1e3', '99999999999999999', ''])('%j is no sequence', (sequence) => {
  expect(parse(`Version:3.0;Sequence:${sequence}`)?.sequence).toBeNull();
});

it('a header reads back as it was written', () => {
  const header = { version: '3.0', sequence: 12, signature: 'abc=' } as const;
  expect(parseHeader(formatHeader(header))).toMatchObject({ ...header, method: 'hmac_sha256' });
  expect(parseHeader(formatHeader({ version: '1.0', checksum: 'x=' }))).toMatchObject({
    version: '1.0',
    checksum: 'x=',
  });
});
