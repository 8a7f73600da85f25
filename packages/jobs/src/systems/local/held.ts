import { constants, type Stats } from 'node:fs';
import { open, readlink, realpath } from 'node:fs/promises';
import { isWithin, leadsOut } from '../paths.js';
import type { System } from '../types.js';

/** Of Linux; Node does not name it: the descriptor stands for a file or directory, and nothing of it is opened. */
const O_PATH = 0o10000000;

/** What a path led to when it was looked at. Whoever changes names or links after that changes nothing here. */
export interface Held {
  /** `/proc/self/fd/N`: leads to it as long as it is held, and names can follow. */
  readonly at: string;
  readonly stats: Stats;
  close(): Promise<void>;
}

/** Below what everything of a system of this machine is. */
export interface HeldRoot extends Pick<System, 'name' | 'root'> {
  /** Nor does it lead out of this, wherever the root itself leads: what the owner of a node allows. */
  readonly within?: string;
}

/**
 * Follows a path, and looks where it has led: a program of a job may make links, and change them at any time.
 * @throws FileTrouble INVALID_PATH when that is not below the root of the system
 */
export async function hold({ name, root, within = '/' }: HeldRoot, path: string): Promise<Held> {
  const handle = await open(path, O_PATH | constants.O_RDONLY);
  const close = (): Promise<void> => handle.close();
  try {
    const at = `/proc/self/fd/${handle.fd}`;
    const [top, allowed, real, stats] = await Promise.all([
      realpath(root),
      realpath(within),
      readlink(at),
      handle.stat(),
    ]);
    if (!isWithin(top, real) || !isWithin(allowed, real)) throw leadsOut(name, path);
    return { at, stats, close };
  } catch (error) {
    await close();
    throw error;
  }
}
