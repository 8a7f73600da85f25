import { generateKeyPairSync } from 'node:crypto';
import type { KeyPair } from '../../src/keys.js';

/** For all tests of this process: making a key takes longer than most tests, and as long as starting an agent. */
const made: KeyPair[] = [];
/** So many servers in a row have different keys. */
const SERVERS = 4;
const ofServers: KeyPair[] = [];
let servers = 0;

export function newKey(): KeyPair {
  return generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
}

/** Different numbers have different keys. */
export function madeKey(number: number): KeyPair {
  return at(made, number);
}

/** For a server that would make one at its first start. */
export function serverKeyPair(): KeyPair {
  servers += 1;
  return at(ofServers, servers % SERVERS);
}

/** How one server makes its keys: the first is there already, those that are to replace it are new. */
export function keysOfServer(): () => Promise<KeyPair> {
  let first = true;
  return async () => {
    if (!first) return newKey();
    first = false;
    return serverKeyPair();
  };
}

function at(keys: KeyPair[], number: number): KeyPair {
  for (;;) {
    const found = keys[number];
    if (found !== undefined) return found;
    keys.push(newKey());
  }
}
