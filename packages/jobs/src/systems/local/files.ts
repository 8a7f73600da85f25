import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, opendir, rename, rm, unlink } from 'node:fs/promises';
import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { checkedPath, entryOf, isWithin, notADirectory, notAFile, pageOf, removable, tooMany } from '../paths.js';
import { type FileEntry, type Files, FileTrouble } from '../types.js';
import { type Part, type Parts, readTold, writeWhole } from '../whole-file.js';
import { fileError } from './errors.js';
import { type Held, type HeldRoot, hold } from './held.js';
import { removeAll } from './removal.js';

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants;

/**
 * Files of this machine below the root of a system, with the rights of this process. Links of theirs may lead anywhere, and
 * change at any time: everything is done to what was found to be below the root, by its descriptor, and not by a path.
 */
export class LocalFiles implements Files {
  readonly #system: HeldRoot;

  constructor(system: HeldRoot) {
    this.#system = system;
  }

  async stat(path: string): Promise<FileEntry | null> {
    checkedPath(path);
    return this.#absent(path, () =>
      this.#held(path, async ({ stats }) => entryOf('', posix.basename(path), stats, stats.mtimeMs)),
    );
  }

  async list(path: string, page: { readonly limit: number; readonly offset: number }): Promise<FileEntry[] | null> {
    checkedPath(path);
    return this.#absent(path, () => this.#held(path, ({ at }) => this.#listed(path, at, page)));
  }

  async read(path: string, { start = 0, end = Number.POSITIVE_INFINITY } = {}): Promise<Readable> {
    checkedPath(path);
    const handle = await this.#held(path, ({ at, stats }) => {
      // To open a pipe that nobody writes to would hold a thread of this process for ever.
      if (!stats.isFile()) throw notAFile(path);
      return this.#told(path, () => open(at, O_RDONLY));
    });
    if (start >= end) {
      await handle.close();
      return Readable.from([]);
    }
    const stream = handle.createReadStream({ start, end: end - 1 });
    return Readable.from(
      readTold(stream, (error) => fileError(this.#system.name, path, error)),
      { objectMode: false },
    );
  }

  async write(path: string, ...how: Tail<Parameters<Files['write']>>): Promise<number> {
    checkedPath(path);
    return this.#heldParent(path, ({ at }) => writeWhole(this.#parts(at), path, ...how));
  }

  async makeDirectory(path: string, mode = 0o700): Promise<void> {
    checkedPath(path);
    // The root itself, and what is above it, are nobody's to put links into.
    if (isWithin(path, this.#system.root)) {
      await this.#told(path, () => mkdir(path, { recursive: true, mode }));
      return;
    }
    const isThere = async (): Promise<boolean> => {
      const found = await this.stat(path);
      if (found !== null && found.type !== 'dir') throw notADirectory(path);
      return found !== null;
    };
    if (await isThere()) return;
    await this.makeDirectory(posix.dirname(path), mode);
    try {
      await this.#heldParent(path, ({ at }) => this.#told(path, () => mkdir(inside(at, path), { mode })));
    } catch (error) {
      // Somebody else may have made it meanwhile.
      if (!(await isThere())) throw error;
    }
  }

  async remove(path: string): Promise<void> {
    const whole = removable(path);
    await this.#absent(whole, () => this.#heldParent(whole, ({ at }) => removeAll(at, posix.basename(whole))));
  }

  async #listed(path: string, at: string, page: { readonly limit: number; readonly offset: number }) {
    const names = await namesIn(path, at);
    const entries = await Promise.all(
      pageOf(path, names, page).map(async (name) => {
        const found = await this.#absent(path, () => lstat(`${at}/${name}`));
        return found === null ? null : entryOf(name, name, found, found.mtimeMs);
      }),
    );
    return entries.filter((entry) => entry !== null);
  }

  /** @param at The directory of the file. */
  #parts(at: string): Parts {
    return {
      stat: (path) => this.stat(path),
      kept: async (part) => {
        const found = await this.#absent(part, () => lstat(inside(at, part)));
        return found?.isFile() === true ? found.size : 0;
      },
      open: async (path, part, from, mode) => {
        const name = inside(at, part);
        if (from === 0) await this.#absent(path, () => unlink(name));
        // What somebody put there meanwhile is no file of ours.
        const flags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | (from === 0 ? O_CREAT | O_EXCL : 0);
        const handle = await this.#told(path, () => open(name, flags, mode));
        return new LocalPart(handle, from, mode, (work) => this.#told(path, work));
      },
      rename: (part, path) =>
        this.#told(path, async () => {
          await rename(inside(at, part), inside(at, path));
          await synced(at);
        }),
      remove: (part) => rm(inside(at, part), { force: true }),
    };
  }

  /** What a path leads to, as long as work goes on. @throws FileTrouble when that is outside of the root */
  async #held<T>(path: string, work: (held: Held) => Promise<T>, told = path): Promise<T> {
    const held = await this.#told(told, () => hold(this.#system, path));
    try {
      return await work(held);
    } finally {
      await held.close();
    }
  }

  #heldParent<T>(path: string, work: (held: Held) => Promise<T>): Promise<T> {
    return this.#held(posix.dirname(path), work, path);
  }

  async #told<T>(path: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw fileError(this.#system.name, path, error);
    }
  }

  /** Null: there is nothing, or nothing that holds it. */
  async #absent<T>(path: string, work: () => Promise<T>): Promise<T | null> {
    try {
      return await this.#told(path, work);
    } catch (error) {
      if (error instanceof FileTrouble && ABSENT.has(error.problem)) return null;
      throw error;
    }
  }
}

type Tail<Words extends readonly unknown[]> = Words extends readonly [unknown, ...infer Rest] ? Rest : never;

const ABSENT: ReadonlySet<string> = new Set(['NOT_FOUND', 'NOT_A_DIRECTORY']);

class LocalPart implements Part {
  readonly #handle: FileHandle;
  readonly #mode: number;
  readonly #told: (work: () => Promise<void>) => Promise<void>;
  #position: number;

  constructor(handle: FileHandle, from: number, mode: number, told: (work: () => Promise<void>) => Promise<void>) {
    this.#handle = handle;
    this.#position = from;
    this.#mode = mode;
    this.#told = told;
  }

  write(piece: Buffer): Promise<void> {
    return this.#told(async () => {
      for (let done = 0; done < piece.length; ) {
        const { bytesWritten } = await this.#handle.write(piece, done, piece.length - done, this.#position);
        done += bytesWritten;
        this.#position += bytesWritten;
      }
    });
  }

  finish(): Promise<void> {
    return this.#told(async () => {
      await this.#handle.chmod(this.#mode);
      await this.#handle.sync();
    });
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/** The name of a path, in its directory. */
function inside(directory: string, path: string): string {
  return `${directory}/${posix.basename(path)}`;
}

async function namesIn(path: string, at: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of await opendir(at)) {
    names.push(name);
    tooMany(path, names.length);
  }
  return names;
}

async function synced(directory: string): Promise<void> {
  const handle = await open(directory, O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
