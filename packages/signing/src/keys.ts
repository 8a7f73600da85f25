import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPair as generate,
  type KeyObject,
} from 'node:crypto';
import { promisify } from 'node:util';
import { MusterError } from './errors.js';
import { SIGNING_LIMITS } from './limits.js';

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
    modulusLength: SIGNING_LIMITS.minKeyBits,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
}

/** The public half of a private key, PEM, SPKI. Throws what the cryptography says of anything else. */
export function publicHalf(privateKey: string): string {
  return createPublicKey(createPrivateKey(privateKey)).export({ type: 'spki', format: 'pem' }).toString();
}

export interface PublicKey {
  /** PEM, SPKI. */
  readonly pem: string;
  /** SHA-256 of the SPKI DER, hexadecimal: the same key has the same fingerprint in any form. */
  readonly fingerprint: string;
}

const PUBLIC_LABEL = /^\s*-----BEGIN (PUBLIC KEY|RSA PUBLIC KEY|CERTIFICATE)-----/;

/** SHA-256 of the SPKI DER, hexadecimal, of any public key in PEM. Throws what the cryptography says of anything else. */
export function fingerprintOf(pem: string): string {
  return hashOf(createPublicKey(pem));
}

function hashOf(key: KeyObject): string {
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}

/**
 * One form for the three a deployed key may have: SPKI, PKCS#1 or an X.509 certificate (sheet §1.6).
 * @throws MusterError `invalid_field` for anything else; a private key is refused rather than quietly reduced.
 */
export function normalizePublicKey(pem: string): PublicKey {
  const key = parsePublicKey(pem);
  if (key.asymmetricKeyType !== 'rsa') throw refused('it must be an RSA key');
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < SIGNING_LIMITS.minKeyBits)
    throw refused(`it has ${bits} bits, at least ${SIGNING_LIMITS.minKeyBits} are needed`);
  if (bits > SIGNING_LIMITS.maxKeyBits)
    throw refused(`it has ${bits} bits, at most ${SIGNING_LIMITS.maxKeyBits} are accepted`);
  return {
    pem: key.export({ type: 'spki', format: 'pem' }).toString(),
    fingerprint: hashOf(key),
  };
}

function parsePublicKey(pem: string): KeyObject {
  if (pem.length > SIGNING_LIMITS.pemBytes) throw refused(`it is longer than ${SIGNING_LIMITS.pemBytes} bytes`);
  if (!PUBLIC_LABEL.test(pem)) throw refused('expected PEM: PUBLIC KEY, RSA PUBLIC KEY or CERTIFICATE');
  try {
    return createPublicKey(pem);
  } catch (cause) {
    throw refused('it cannot be read', { cause });
  }
}

/** What every RSA key in SPKI has before the key itself: `rsaEncryption`, without parameters. */
const RSA_ALGORITHM = Buffer.from('300d06092a864886f70d0101010500', 'hex');
/** Of a SEQUENCE or BIT STRING with a length of two bytes, as keys of 2,048 bits and more have them. */
const LONG_HEADER = 4;
const TWO_BYTES_OF_LENGTH = 0x82;
const BIT_STRING = 0x03;

/**
 * Parses a key as `normalizePublicKey` gives it. OpenSSL 3 tries one decoder after the other on SPKI, which takes 0.1 ms
 * and shows when 10,000 nodes come back at once; the PKCS#1 inside of it takes a fortieth.
 */
export function readPublicKey(pem: string): KeyObject {
  const der = Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64');
  const bits = LONG_HEADER + RSA_ALGORITHM.length;
  const plain =
    der[1] === TWO_BYTES_OF_LENGTH &&
    der.subarray(LONG_HEADER, bits).equals(RSA_ALGORITHM) &&
    der[bits] === BIT_STRING &&
    der[bits + 1] === TWO_BYTES_OF_LENGTH;
  if (!plain) return createPublicKey(pem);
  // A BIT STRING begins with the number of its unused bits, which is 0.
  return createPublicKey({ key: der.subarray(bits + LONG_HEADER + 1), format: 'der', type: 'pkcs1' });
}

function refused(reason: string, options?: ErrorOptions): MusterError {
  return new MusterError('invalid_field', { field: 'public_key', reason }, options);
}
