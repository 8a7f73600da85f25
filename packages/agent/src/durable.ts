import { unlinkSync, writeFileSync } from 'node:fs';
import { open, readFile, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Small files that a crash is told from. */
export interface DurableFiles {
  readonly read: typeof readIfThere;
  readonly write: typeof writeDurably;
  readonly remove: typeof removeDurably;
}

/**
 * Writes a file so that after a crash it is there whole or not at all. Without `sync` it is written in place: a crash
 * of this process meanwhile leaves a part of it, or nothing, and one of the machine may lose it.
 */
export async function writeDurably(path: string, content: string, mode = 0o600, sync = true): Promise<void> {
  if (!sync) {
    // Into memory only: done at once, which six turns through the thread pool would not be.
    writeFileSync(path, content, { mode });
    return;
  }
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

async function removeDurably(path: string, sync = true): Promise<void> {
  try {
    if (sync) await unlink(path);
    else unlinkSync(path);
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  if (sync) await syncDirectory(dirname(path));
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

export const durableFiles: DurableFiles = { read: readIfThere, write: writeDurably, remove: removeDurably };

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
