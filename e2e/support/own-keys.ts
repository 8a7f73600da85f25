import { writeFileSync } from 'node:fs';
import { madeKey } from '../../packages/signing/test/support/made-keys.js';

/**
 * Puts a private key where a program would make one of its own at its first start, unless there is one. Programs that must have
 * different keys get different numbers.
 */
export function giveKey(file: string, number: number): void {
  try {
    writeFileSync(file, madeKey(number).privateKey, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
