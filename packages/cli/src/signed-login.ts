import { createPrivateKey, type KeyObject, randomBytes } from 'node:crypto';
import { signLogin } from '@muster/signing';
import { MusterError } from './errors.js';

const NONCE_BYTES = 16;

/**
 * Logins to the event fabric, signed with a private key: each is good once, so that every attempt to connect makes one.
 * `what` holds the key, for the error.
 * @throws MusterError `usage`
 */
export function signedLogins(login: string, pem: string, what: string, now: () => number): () => string {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch (error) {
    throw new MusterError('usage', { reason: `${what} is not a private key` }, { cause: error });
  }
  return () => signLogin({ login, timestampMs: now(), nonce: randomBytes(NONCE_BYTES).toString('hex') }, key);
}
