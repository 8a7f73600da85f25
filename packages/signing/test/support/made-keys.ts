import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KeyPair } from '../../src/keys.js';

/** For all tests of one run: making a key takes longer than most tests, and as long as starting an agent. */
const made = new Map<string, KeyPair>();
/** So many servers in a row have different keys. */
const SERVERS = 4;
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
  return named(`key-${number}`);
}

/** For a server that would make one at its first start. */
export function serverKeyPair(): KeyPair {
  servers += 1;
  return named(`server-${servers % SERVERS}`);
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

function named(name: string): KeyPair {
  const known = made.get(name) ?? foundOrMade(name);
  made.set(name, known);
  return known;
}

/** Processes of tests share them through a directory (`scripts/vitest-keys.ts`). */
function foundOrMade(name: string): KeyPair {
  const directory = process.env.MUSTER_TEST_KEYS;
  if (directory === undefined) throw new Error('scripts/vitest-keys.ts must run before the tests');
  const file = join(directory, `${name}.json`);
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const key = newKey();
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(key), { mode: 0o600 });
  renameSync(draft, file);
  return key;
}
