import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve, sep } from 'node:path';
import { MusterError } from './errors.js';
import { processUser } from './process-user.js';

/** What to do about a file that is for its owner alone; null: it is. @param mode As `stat` says it. */
export function readByOthers(file: string, mode: number): string | null {
  if ((mode & 0o077) === 0) return null;
  return `${file} can be read by others (mode ${(mode & 0o777).toString(8)}); run: chmod 600 ${file}`;
}

/**
 * Makes a directory, with those above it, unless it is there. Step by step: where the system makes no directories but says that
 * the parent is missing, as below /proc, Node's own `recursive` tries again for ever.
 *
 * @throws the system's error
 */
export function makeDirectories(path: string, mode = 0o777): void {
  const parent = dirname(path);
  if (parent !== path && !existsSync(parent)) makeDirectories(parent, mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // It was there, or somebody else has made it meanwhile.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}

/**
 * Makes a data directory, with those above it, unless it is there, and sees to it that this process may write to it.
 *
 * @throws MusterError `data_dir_unusable`
 */
export function makeDataDir(path: string, mode: number): void {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory() === false) throw new Error('it is not a directory');
    makeDirectories(resolve(path), mode);
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw unusable(path, error);
  }
}

/** What the system said about a file in a data directory, as `data_dir_unusable`; other errors as they are. */
export function dataDirError(path: string, error: unknown): unknown {
  // The store told its database.
  const failure = error instanceof MusterError && error.code === 'database_unusable' ? error.cause : error;
  const file = failure instanceof Error && 'path' in failure ? failure.path : undefined;
  if (typeof file !== 'string' || !UNUSABLE.has(codeOf(failure))) return error;
  const directory = resolve(path);
  const inside = resolve(file) === directory || resolve(file).startsWith(`${directory}${sep}`);
  return inside ? unusable(path, failure) : error;
}

/** The system's codes for what an operator can mend. */
const UNUSABLE: ReadonlySet<unknown> = new Set([
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOENT',
  'ENOTDIR',
  'EISDIR',
  'ENOSPC',
  'EDQUOT',
]);

function unusable(path: string, cause: unknown): MusterError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new MusterError('data_dir_unusable', { path, user: processUser(), reason }, { cause });
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
