import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import type { AllowedPlace } from './allowed-paths.js';

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
/** Of Linux; Node does not name it: the descriptor stands for a directory, and nothing of it is opened. */
const O_PATH = 0o10000000;

/** Why a path is not taken, for people. */
export class PathRefused extends Error {
  override readonly name = 'PathRefused';
}

/** The directory of a path, held by a descriptor: whoever changes names or puts links after that changes nothing here. */
export interface HeldDirectory {
  /** Of a name in it. */
  at(name: string): string;
  /** The last name of the path. */
  readonly name: string;
  close(): Promise<void>;
}

/**
 * Goes down from the root of a place name by name, over no link.
 * @throws PathRefused
 */
export async function holdDirectory({ root, names }: AllowedPlace): Promise<HeldDirectory> {
  const name = names.at(-1) ?? '';
  let path = root;
  let held = await openDirectory(path, path, 0);
  try {
    for (const part of names.slice(0, -1)) {
      path = path === '/' ? `/${part}` : `${path}/${part}`;
      const next = await openDirectory(`/proc/self/fd/${held.fd}/${part}`, path, O_NOFOLLOW);
      await held.close();
      held = next;
    }
  } catch (error) {
    await held.close();
    throw error;
  }
  const { fd } = held;
  return { name, at: (inside) => `/proc/self/fd/${fd}/${inside}`, close: () => held.close() };
}

/**
 * An ordinary file, to be read.
 * @throws PathRefused
 */
export async function openBeneath(place: AllowedPlace, path: string): Promise<{ handle: FileHandle; stats: Stats }> {
  const directory = await holdDirectory(place);
  try {
    // A pipe that nobody writes to would hold whoever opens it.
    const handle = await open(directory.at(directory.name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(
      (error: unknown) => {
        throw refusal(path, error);
      },
    );
    const stats = await handle.stat();
    if (stats.isFile()) return { handle, stats };
    await handle.close();
    throw new PathRefused(`'${path}' is not an ordinary file`);
  } finally {
    await directory.close();
  }
}

/** What stands there under the name now; null: nothing. */
export async function standing(directory: HeldDirectory): Promise<Stats | null> {
  return lstat(directory.at(directory.name)).catch(() => null);
}

async function openDirectory(path: string, shown: string, flags: number): Promise<FileHandle> {
  try {
    return await open(path, O_PATH | O_DIRECTORY | flags);
  } catch (error) {
    throw refusal(shown, error);
  }
}

export function refusal(path: string, error: unknown): Error {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  switch (code) {
    case 'ENOENT':
      return new PathRefused(`'${path}' does not exist`);
    case 'ENOTDIR':
      return new PathRefused(`'${path}' is a link, or no directory`);
    case 'ELOOP':
      return new PathRefused(`'${path}' is a link`);
    case 'EACCES':
    case 'EPERM':
      return new PathRefused(`the agent may not use '${path}'`);
    case 'ENOSPC':
      return new PathRefused(`there is no room for '${path}'`);
    case 'EROFS':
      return new PathRefused(`'${path}' cannot be written: the file system is read-only`);
    default:
      return error instanceof Error ? error : new Error(String(error));
  }
}
