import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { open, readFile, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Small files that a crash is told from. */
export interface DurableFiles {
  readonly read: typeof readIfThere;
  readonly write: typeof writeDurably;
  readonly remove: typeof removeDurably;
  readonly overwriteLine: typeof overwriteLine;
}

/** Writes a file so that after a crash it is there whole or not at all. */
export async function writeDurably(path: string, content: string, mode = 0o600): Promise<void> {
  const temporary = `${path}.new`;
  const handle = await open(temporary, 'w', mode);
  try {
    await handle.chmod(mode);
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, path);
  await syncDirectory(dirname(path));
}

async function removeDurably(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  await syncDirectory(dirname(path));
}

/**
 * Writes the first line of a file in place, into memory only: a crash of this process loses nothing that was written,
 * one of the machine may. What was there of a longer line stays behind it and means nothing. No file is made or deleted
 * for it but the first time, as ext4 looks long for a place for a file where others were just deleted, and no thread of
 * the pool is asked, as six turns through it take longer than the writing.
 */
async function overwriteLine(path: string, line: string, mode = 0o600): Promise<void> {
  const content = Buffer.from(`${line}\n`);
  const file = openSync(path, constants.O_WRONLY | constants.O_CREAT, mode);
  try {
    const written = writeSync(file, content, 0, content.length, 0);
    if (written < content.length) throw new Error(`${path}: only ${written} of ${content.length} bytes were written`);
  } finally {
    closeSync(file);
  }
}

/** Null when there is no such file. */
export async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

export const durableFiles: DurableFiles = {
  read: readIfThere,
  write: writeDurably,
  remove: removeDurably,
  overwriteLine,
};

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
