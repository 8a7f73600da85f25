import { closeSync, openSync } from 'node:fs';

/**
 * Creates a file that only its owner may read, if it is not there yet. SQLite would create it readable for everybody;
 * the files it puts beside it (`-wal`, `-shm`) get the mode of this one.
 */
export function createPrivate(path: string): void {
  closeSync(openSync(path, 'a', 0o600));
}
