import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { firstServerKey, type KeyPair } from '@muster/signing';

/** Short keys: nobody attacks a simulation, and it signs and verifies all the time. */
const BITS = 512;

export interface ParsedPair extends KeyPair {
  readonly key: KeyObject;
}

function makePair(): ParsedPair {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: BITS });
  return {
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    key: privateKey,
  };
}

/** Made once: any will do. */
export const SERVER_KEY = firstServerKey(makePair());
export const NODE_KEYS: ParsedPair = makePair();
/** Of a node that was installed anew. */
export const OTHER_NODE_KEYS: ParsedPair = makePair();
