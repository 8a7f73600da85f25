import { posix } from 'node:path';
import type { FileEntry, Files } from '../systems/types.js';
import { Failed } from '../types.js';
import { LIMITS } from './limits.js';
import { segment } from './paths.js';

export interface TransferOptions {
  readonly signal: AbortSignal;
  /** Why it fails when there are too many files. */
  readonly condition: string;
  /** What is left out, by its path below the directory; with a directory goes what is in it. */
  readonly leave?: (path: string) => boolean;
  /** Files that are there with the same size are kept: of use where nothing else writes. */
  readonly keepSame?: boolean;
}

export interface Transferred {
  readonly files: number;
  readonly bytes: number;
  /** Links, sockets and the like, which are not transferred. */
  readonly left: number;
}

interface Place {
  readonly files: Files;
  readonly path: string;
}

/** A file, or a directory with what is in it, from one system to another. Permissions are kept. */
export async function transfer(
  from: Place,
  entry: Pick<FileEntry, 'type' | 'length' | 'mode'>,
  to: Place,
  options: TransferOptions,
): Promise<Transferred> {
  if (entry.type === 'file') {
    await transferFile(from, entry, to, options);
    return { files: 1, bytes: entry.length, left: 0 };
  }
  return new Tree(from, to, options).transfer(entry.mode);
}

async function transferFile(
  from: Place,
  { length, mode }: Pick<FileEntry, 'length' | 'mode'>,
  to: Place,
  { signal, keepSame = false }: TransferOptions,
): Promise<void> {
  signal.throwIfAborted();
  if (keepSame) {
    const there = await to.files.stat(to.path);
    if (there?.type === 'file' && there.length === length) return;
  }
  const source = (start: number) => from.files.read(from.path, { start });
  await to.files.write(to.path, source, { mode, size: length, signal });
}

/** Directory by directory; of one directory some files at a time. */
class Tree {
  readonly #from: Place;
  readonly #to: Place;
  readonly #options: TransferOptions;
  #entries = 0;
  #files = 0;
  #bytes = 0;
  #left = 0;

  constructor(from: Place, to: Place, options: TransferOptions) {
    this.#from = from;
    this.#to = to;
    this.#options = options;
  }

  async transfer(mode: number): Promise<Transferred> {
    await this.#directory('', mode, 0);
    return { files: this.#files, bytes: this.#bytes, left: this.#left };
  }

  async #directory(path: string, mode: number, depth: number): Promise<void> {
    const { condition } = this.#options;
    if (depth > LIMITS.depth) throw new Failed(condition, `more than ${LIMITS.depth} directories within each other`);
    // Its owner must be able to write into it until all is there.
    await this.#to.files.makeDirectory(posix.join(this.#to.path, path), mode | 0o700);
    for (let offset = 0; ; offset += LIMITS.page) {
      this.#options.signal.throwIfAborted();
      const where = posix.join(this.#from.path, path);
      const page = (await this.#from.files.list(where, { limit: LIMITS.page, offset })) ?? [];
      await this.#page(path, page, depth);
      if (page.length < LIMITS.page) return;
    }
  }

  async #page(path: string, page: readonly FileEntry[], depth: number): Promise<void> {
    const { leave = () => false, condition } = this.#options;
    const waiting: FileEntry[] = [];
    for (const entry of page) {
      if (leave(posix.join(path, entry.name))) continue;
      this.#entries += 1;
      if (this.#entries > LIMITS.entries) throw new Failed(condition, `more than ${LIMITS.entries} files`);
      if (entry.type === 'file') waiting.push(entry);
      else if (entry.type === 'dir')
        await this.#directory(posix.join(path, segment(entry.name)), entry.mode, depth + 1);
      else this.#left += 1;
    }
    const next = async (): Promise<void> => {
      for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) await this.#file(path, entry);
    };
    const stopOthers = (error: unknown): never => {
      waiting.length = 0;
      throw error;
    };
    const lanes = Array.from({ length: LIMITS.transfers }, () => next().catch(stopOthers));
    // Nothing is written any more when this ends, also when it fails.
    for (const end of await Promise.allSettled(lanes)) if (end.status === 'rejected') throw end.reason;
  }

  async #file(path: string, entry: FileEntry): Promise<void> {
    const below = posix.join(path, segment(entry.name));
    const at = ({ files, path: root }: Place): Place => ({ files, path: posix.join(root, below) });
    await transferFile(at(this.#from), entry, at(this.#to), this.#options);
    this.#files += 1;
    this.#bytes += entry.length;
  }
}

/** A small file, whole. @throws Failed when it is not */
export async function readText({ files, path }: Place, condition: string): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of await files.read(path, { end: LIMITS.textBytes + 1 })) {
    pieces.push(Buffer.from(piece));
    length += piece.length;
  }
  if (length > LIMITS.textBytes) throw new Failed(condition, `${path} has more than ${LIMITS.textBytes} bytes`);
  return Buffer.concat(pieces).toString('utf8');
}
