import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { open, opendir, rename, rmdir, unlink } from 'node:fs/promises';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
/** Somebody may put new names into a directory for ever. */
const PASSES = 10_000;

/**
 * Removes a file, a link, or a directory with what is in it. No link is followed, also not one that is put into the place of
 * a directory meanwhile: names are looked for in directories that are held open. Only two are at a time, however deep they
 * lie within each other: what lies deeper is moved up first.
 * @param parent Of a directory that is held, see `Held.at`.
 */
export async function removeAll(parent: string, name: string): Promise<void> {
  const path = `${parent}/${name}`;
  if (await isRemoved(path)) return;
  await within(path, async (top) => {
    for (let pass = 0; pass < PASSES; pass++) {
      let found = false;
      for await (const entry of await opendir(top)) {
        found = true;
        await clear(top, entry.name);
      }
      if (!found) return;
    }
  });
  await rmdir(path);
}

async function clear(top: string, name: string): Promise<void> {
  const path = `${top}/${name}`;
  if (await isRemoved(path)) return;
  await within(path, async (directory) => {
    for await (const entry of await opendir(directory)) {
      const inside = `${directory}/${entry.name}`;
      if (!(await isRemoved(inside))) await rename(inside, `${top}/.muster-removed-${randomUUID()}`);
    }
  });
  await isRemoved(path);
}

/** False: it is a directory with something in it. */
async function isRemoved(path: string): Promise<boolean> {
  return (await done(unlink(path), 'EISDIR')) || (await done(rmdir(path), 'ENOTEMPTY'));
}

/** What is gone already is fine. */
async function done(removal: Promise<void>, otherwise: string): Promise<boolean> {
  try {
    await removal;
    return true;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'ENOENT') return true;
    if (code === otherwise) return false;
    throw error;
  }
}

async function within(path: string, work: (at: string) => Promise<void>): Promise<void> {
  const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    await work(`/proc/self/fd/${handle.fd}`);
  } finally {
    await handle.close();
  }
}
