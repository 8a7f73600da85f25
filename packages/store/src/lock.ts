import { join } from 'node:path';
import { makeDataDir } from '@muster/base';
import Database from 'better-sqlite3';
import { MusterError } from './errors.js';
import { createPrivate } from './private-file.js';

export interface DirectoryLock {
  release(): void;
}

/**
 * Keeps a second process out of a data directory, which is made (0700: keys live in it) when it is missing. The
 * lock is the operating system's, held through an open SQLite transaction: it ends with the process, however
 * the process ends.
 *
 * @throws MusterError `data_dir_in_use`, `data_dir_unusable`
 */
export function lockDirectory(path: string): DirectoryLock {
  makeDataDir(path, 0o700);
  const file = join(path, 'lock.db');
  createPrivate(file);
  const db = new Database(file, { timeout: 0 });
  try {
    db.exec('begin exclusive');
  } catch (error) {
    db.close();
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) {
      throw new MusterError('data_dir_in_use', { path }, { cause: error });
    }
    throw error;
  }
  return { release: () => db.close() };
}
