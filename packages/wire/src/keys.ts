import { createHash, createPublicKey, generateKeyPair as generate, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { MusterError } from './errors.js';
import { LIMITS } from './limits.js';

/** PEM text, or the key already parsed: parse once where a key is used often. */
export type RsaKey = string | KeyObject;

export interface KeyPair {
  /** PEM, SPKI. */
  readonly publicKey: string;
  /** PEM, PKCS#8. */
  readonly privateKey: string;
}

const generateAsync = promisify(generate);

/** A new RSA key pair, made off the main thread. */
export async function generateKeyPair(): Promise<KeyPair> {
  return generateAsync('rsa', {
    modulusLength: LIMITS.minKeyBits,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
}

export interface PublicKey {
  /** PEM, SPKI. */
  readonly pem: string;
  /** SHA-256 of the SPKI DER, hexadecimal: the same key has the same fingerprint in any form. */
  readonly fingerprint: string;
}

const PUBLIC_LABEL = /^\s*-----BEGIN (PUBLIC KEY|RSA PUBLIC KEY|CERTIFICATE)-----/;

/**
 * One form for the three a deployed key may have: SPKI, PKCS#1 or an X.509 certificate (sheet §1.6).
 * @throws MusterError `invalid_field` for anything else; a private key is refused rather than quietly reduced.
 */
export function normalizePublicKey(pem: string): PublicKey {
  const key = parsePublicKey(pem);
  if (key.asymmetricKeyType !== 'rsa') throw refused('it must be an RSA key');
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < LIMITS.minKeyBits) throw refused(`it has ${bits} bits, at least ${LIMITS.minKeyBits} are needed`);
  if (bits > LIMITS.maxKeyBits) throw refused(`it has ${bits} bits, at most ${LIMITS.maxKeyBits} are accepted`);
  return {
    pem: key.export({ type: 'spki', format: 'pem' }).toString(),
    fingerprint: createHash('sha256')
      .update(key.export({ type: 'spki', format: 'der' }))
      .digest('hex'),
  };
}

function parsePublicKey(pem: string): KeyObject {
  if (pem.length > LIMITS.pemBytes) throw refused(`it is longer than ${LIMITS.pemBytes} bytes`);
  if (!PUBLIC_LABEL.test(pem)) throw refused('expected PEM: PUBLIC KEY, RSA PUBLIC KEY or CERTIFICATE');
  try {
    return createPublicKey(pem);
  } catch (cause) {
    throw refused('it cannot be read', { cause });
  }
}

function refused(reason: string, options?: ErrorOptions): MusterError {
  return new MusterError('invalid_field', { field: 'public_key', reason }, options);
}
