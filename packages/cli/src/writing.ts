import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** A file or directory of this machine that cannot be written; the message is the system's reason. */
export class NotWritten extends Error {}

/** What `write` does to files of this machine. @throws NotWritten */
export async function writing<T>(write: () => T | Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw new NotWritten(systemReason(error), { cause: error });
  }
}

/** `EACCES: permission denied`: without the call and the path, which Node.js adds. */
export function systemReason(error: unknown): string {
  const [said = ''] = (error instanceof Error ? error.message : String(error)).split(', ');
  return said;
}

/**
 * With those above it. Node.js has a flag for that, with which it tries for ever where nothing can be made, as in /proc.
 * @throws the system's error
 */
export function makeDirectory(path: string): void {
  const above = dirname(path);
  if (above !== path && !existsSync(above)) makeDirectory(above);
  try {
    mkdirSync(path);
  } catch (error) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}
