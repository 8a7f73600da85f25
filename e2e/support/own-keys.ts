import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';

/** For all tests of this process: making a key takes as long as starting an agent. */
const made: string[] = [];

/**
 * Puts a private key where a program would make one of its own at its first start, unless there is one. Programs that must have
 * different keys get different numbers.
 */
export function giveKey(file: string, number: number): void {
  while (made.length <= number) {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    made.push(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  }
  try {
    writeFileSync(file, made[number] ?? '', { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
