import { chownSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Account } from '../../execution/account.js';
import { SPARE_DIRECTORIES } from '../../limits.js';

/** A working directory of one task at a time. */
export interface WorkDir {
  readonly path: string;
  /** The directory it is in, and whom it belongs to. */
  readonly place: string;
}

/**
 * Working directories of tasks. To make and to remove one takes longer on a disk that is busy than a short task, so that
 * one that is left as it was made serves the next task of the same user; all others are removed with what is in them.
 */
export class WorkDirs {
  readonly #mark: string;
  readonly #spare = new Map<string, WorkDir[]>();
  #made = 0;

  /** `mark`: begins their names, so that what a dead host left can be found. */
  constructor(mark: string) {
    this.#mark = mark;
  }

  /** An empty one below `parent`, of whom the task runs as, and closed to others. */
  take(parent: string, account: Account | null): WorkDir {
    const place = `${account?.uid ?? ''} ${parent}`;
    const spare = this.#spare.get(place)?.pop();
    if (spare !== undefined) return spare;
    this.#made += 1;
    const path = join(parent, `${this.#mark}${this.#made}`);
    mkdirSync(path, { mode: 0o700 });
    if (account !== null) chownSync(path, account.uid, account.gid);
    return { path, place };
  }

  /** The task has ended, and the files that were made for it are gone. */
  async giveBack(dir: WorkDir): Promise<void> {
    const spare = this.#spare.get(dir.place) ?? [];
    if (spare.length < SPARE_DIRECTORIES && readdirSync(dir.path).length === 0) {
      this.#spare.set(dir.place, [...spare, dir]);
      return;
    }
    await rm(dir.path, { recursive: true, force: true });
  }

  /** The host ends. */
  removeSpare(): void {
    for (const { path } of [...this.#spare.values()].flat()) rmdirSync(path);
    this.#spare.clear();
  }
}
