import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { madeKey, serverKeyPair } from '../../packages/signing/test/support/made-keys.js';

/**
 * Puts a private key where a program would make one of its own at its first start, unless there is one. Programs that must have
 * different keys get different numbers.
 */
export function giveKey(file: string, number: number): void {
  give(file, madeKey(number).privateKey);
}

/** As `giveKey`, to the server whose data is in this directory: the key that it has, and that of its first admin. */
export function giveServerKeys(dataDir: string): void {
  give(join(dataDir, 'server.pem'), serverKeyPair().privateKey);
  giveKey(join(dataDir, 'admin.pem'), 0);
}

function give(file: string, key: string): void {
  try {
    writeFileSync(file, key, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
