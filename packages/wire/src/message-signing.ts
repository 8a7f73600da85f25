import {
  constants,
  createHash,
  createHmac,
  createSecretKey,
  type KeyObject,
  privateEncrypt,
  publicDecrypt,
  sign,
  timingSafeEqual,
  verify,
} from 'node:crypto';
import type { RsaKey } from '@muster/signing';

/** Base64 HMAC-SHA-256 over the parts, one after the other (sheet §3.4). */
export function signHmac(key: Uint8Array, ...parts: readonly (Uint8Array | string)[]): string {
  return hmac(key, parts).toString('base64');
}

/** In constant time, whatever the signature's form. */
export function verifyHmac(key: Uint8Array, signature: string, ...parts: readonly (Uint8Array | string)[]): boolean {
  const expected = hmac(key, parts);
  const given = Buffer.from(signature, 'base64');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Parsed keys by their bytes' own object: a session signs many messages, and importing costs as much as signing. */
const secretKeys = new WeakMap<Uint8Array, KeyObject>();

function hmac(key: Uint8Array, parts: readonly (Uint8Array | string)[]): Buffer {
  let secret = secretKeys.get(key);
  if (secret === undefined) {
    secret = createSecretKey(key);
    secretKeys.set(key, secret);
  }
  const code = createHmac('sha256', secret);
  for (const part of parts) code.update(part);
  return code.digest();
}

/** `rsa2048_sha1`: the RSA private-key operation over the text base64(SHA-1(body)), without DigestInfo (sheet §3.4). */
export function signRsaSha1(privateKey: RsaKey, body: Uint8Array): string {
  const checksum = createHash('sha1').update(body).digest('base64');
  return privateEncrypt({ key: privateKey, padding: constants.RSA_PKCS1_PADDING }, Buffer.from(checksum)).toString(
    'base64',
  );
}

/**
 * Recovers the checksum and compares it. Push Jobs §7.1.1 can also be read as encrypting the 20 bytes themselves;
 * that form is no weaker, so it is accepted as well.
 */
export function verifyRsaSha1(publicKey: RsaKey, body: Uint8Array, signature: string): boolean {
  const checksum = createHash('sha1').update(body).digest();
  try {
    const recovered = publicDecrypt(
      { key: publicKey, padding: constants.RSA_PKCS1_PADDING },
      Buffer.from(signature, 'base64'),
    );
    return recovered.equals(checksum) || recovered.equals(Buffer.from(checksum.toString('base64')));
  } catch {
    return false;
  }
}

/** RSASSA-PKCS1-v1_5 with SHA-256: what our own agents verify on server heartbeats. */
export function signRsaSha256(privateKey: RsaKey, body: Uint8Array): string {
  return sign('sha256', body, privateKey).toString('base64');
}

export function verifyRsaSha256(publicKey: RsaKey, body: Uint8Array, signature: string): boolean {
  try {
    return verify('sha256', body, publicKey, Buffer.from(signature, 'base64'));
  } catch {
    return false;
  }
}
