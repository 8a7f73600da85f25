import { constants, privateDecrypt, publicEncrypt, randomBytes } from 'node:crypto';
import { MusterError } from '@muster/base';
import type { RsaKey } from '@muster/signing';
import { LIMITS } from './limits.js';

/** A fresh key for one node (sheet §2.4). */
export function newSessionKey(): Uint8Array {
  return randomBytes(LIMITS.sessionKeyBytes);
}

/** Base64 of the key under RSA PKCS#1 v1.5, for the owner of the public key that verified the request. */
export function encryptSessionKey(key: Uint8Array, publicKey: RsaKey): string {
  return publicEncrypt({ key: publicKey, padding: constants.RSA_PKCS1_PADDING }, key).toString('base64');
}

/**
 * Newer Node builds refuse RSA_PKCS1_PADDING here (sheet §2.4), so the padding is taken off by hand.
 * Every failure looks the same, so that it tells nothing about the padding.
 * @throws MusterError `invalid_field`.
 */
export function decryptSessionKey(encrypted: string, privateKey: RsaKey): Uint8Array {
  let block: Buffer;
  try {
    block = privateDecrypt({ key: privateKey, padding: constants.RSA_NO_PADDING }, Buffer.from(encrypted, 'base64'));
  } catch {
    throw undecryptable();
  }
  const start = block.length - LIMITS.sessionKeyBytes;
  if (start < MIN_PADDED) throw undecryptable();
  // `00 02 <non-zero padding> 00 <key>`: the key's length is known, so the place of each byte is, too.
  let wrong = (block[0] ?? 1) | ((block[1] ?? 0) ^ 2) | (block[start - 1] ?? 1);
  for (let at = 2; at < start - 1; at++) wrong |= block[at] === 0 ? 1 : 0;
  if (wrong !== 0) throw undecryptable();
  return block.subarray(start);
}

/** Two marker bytes, at least eight of padding, and the separator. */
const MIN_PADDED = 11;

function undecryptable(): MusterError {
  return new MusterError('invalid_field', {
    field: 'encoded_session_key',
    reason: 'it cannot be decrypted with this key',
  });
}
