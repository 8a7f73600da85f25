import { lchownSync, mkdirSync, readdirSync, realpathSync, rmdirSync, statSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Account } from '../../execution/account.js';
import { SPARE_DIRECTORIES } from '../../limits.js';
import { removeTree } from '../remove-tree.js';

/** A working directory of one task at a time. */
export interface WorkDir {
  readonly path: string;
  /** The directory it is in. */
  readonly parent: string;
  /** Whom the task runs as, when that is somebody else than this process. */
  readonly other: Account | null;
}

/**
 * Working directories of tasks. To make and to remove one takes longer on a disk that is busy than a short task, so that
 * one that is left as it was made serves the next task; all others are removed with what is in them.
 *
 * A task of another user may leave processes behind that put links into its directory, for root to follow. So it is
 * given to that user only when all files of the task are in it, serves one task only, and is emptied as that user.
 */
export class WorkDirs {
  readonly #mark: string;
  readonly #spare = new Map<string, WorkDir[]>();
  /** Directories that nobody can exchange. */
  readonly #safe = new Set<string>();
  #made = 0;

  /** `mark`: begins their names, so that what a dead host left can be found. */
  constructor(mark: string) {
    this.#mark = mark;
  }

  /** An empty one below `parent`, which is closed to all but this process until it is handed over. */
  take(parent: string, account: Account | null): WorkDir {
    const other = account === null || account.uid === process.getuid?.() ? null : account;
    const spare = other === null ? this.#spare.get(parent)?.pop() : undefined;
    if (spare !== undefined) return spare;
    if (other !== null) this.#checkParent(parent);
    this.#made += 1;
    const path = join(parent, `${this.#mark}${this.#made}`);
    mkdirSync(path, { mode: 0o700 });
    return { path, parent, other };
  }

  #checkParent(parent: string): void {
    if (this.#safe.has(parent)) return;
    const fault = exchangeable(parent);
    if (fault !== null) throw new Error(fault);
    this.#safe.add(parent);
  }

  /** The files of the task are in it: from here on it is theirs. */
  handOver({ path, other }: WorkDir): void {
    if (other !== null) lchownSync(path, other.uid, other.gid);
  }

  /** The task has ended. `files` were made for it. Throws when something of it is left. */
  async giveBack(dir: WorkDir, files: readonly string[]): Promise<void> {
    for (const file of files) removeFile(file);
    const spare = this.#spare.get(dir.parent) ?? [];
    if (dir.other === null && spare.length < SPARE_DIRECTORIES && readdirSync(dir.path).length === 0) {
      this.#spare.set(dir.parent, [...spare, dir]);
      return;
    }
    await removeTree(dir.path);
  }

  /** The host ends. */
  removeSpare(): void {
    for (const { path } of [...this.#spare.values()].flat()) rmdirSync(path);
    this.#spare.clear();
  }
}

function removeFile(file: string): void {
  try {
    unlinkSync(file);
  } catch {
    // It was not made after all, or something else has its name, which goes with the directory.
  }
}

const OTHERS_WRITE = 0o022;
const STICKY = 0o1000;

/** Why somebody else than root and this process could put another directory in the place of one below it; null: nobody can. */
function exchangeable(parent: string): string | null {
  const own = [0, process.getuid?.()];
  const real = realpathSync(parent);
  for (let path = real; ; path = dirname(path)) {
    const { uid, mode } = statSync(path);
    // In a sticky directory everybody keeps what is theirs, but what is made here will not be the agent's.
    const open = (mode & OTHERS_WRITE) !== 0 && (path === real || (mode & STICKY) === 0);
    if (!own.includes(uid) || open) {
      return `others than the agent can change ${path}; a plugin with a user needs a temp_dir below directories that only the agent can write to`;
    }
    if (path === dirname(path)) return null;
  }
}
