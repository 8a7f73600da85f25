import { processUser } from '@muster/base';
import { MusterError } from './errors.js';

/** A database that cannot be opened at the start, told with its place and what to look at. */
export function unusableFile(path: string, cause: unknown): MusterError {
  const hint = `Check the space on its disk, and that the user ${processUser()} may write to it. A damaged file is replaced by a backup.`;
  return new MusterError('database_unusable', { database: path, reason: reasonOf(cause), hint }, { cause });
}

export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Of a name with several addresses Node's error has a code only.
  return error.message || codeOf(error) || error.name;
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
