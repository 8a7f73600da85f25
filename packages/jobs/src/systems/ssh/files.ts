import { posix } from 'node:path';
import { Readable } from 'node:stream';
import type { FileEntryWithStats, Stats } from 'ssh2';
import {
  checkedPath,
  entryOf,
  isWithin,
  leadsOut,
  notADirectory,
  notAFile,
  pageOf,
  removable,
  tooMany,
} from '../paths.js';
import type { FileEntry, Files } from '../types.js';
import { type Parts, writeWhole } from '../whole-file.js';
import type { Sftp } from './sftp.js';
import { SftpPart, WINDOW } from './sftp-part.js';

/** Bytes of one request, and requests that are under way for one file. */
const PIECE = 64 * 1024;
const AHEAD = 8;
/** Files that are removed at the same time. */
const REMOVED = 16;

/**
 * Files of a host below the root of a system, over SFTP. A path whose links lead out of the root is refused. SFTP can hold
 * nothing by a descriptor: a link that changes in that moment is followed, with the rights of the account that is logged in.
 */
export class SshFiles implements Files {
  readonly #sftp: Sftp;
  readonly #root: string;
  readonly #parts: Parts;

  constructor(sftp: Sftp, root: string) {
    this.#sftp = sftp;
    this.#root = root;
    this.#parts = {
      stat: (path) => this.stat(path),
      kept: async (part) => {
        const found = await sftp.absent<Stats>(part, (to, done) => to.lstat(part, done));
        // Of the last pieces nobody knows whether one is missing between others.
        return found?.isFile() === true ? Math.max(found.size - WINDOW, 0) : 0;
      },
      open: async (path, part, from, mode) => {
        // With no way to say that a link is not to be followed: what is there is removed.
        if (from === 0) await this.#unlink(part);
        const flags = from === 0 ? 'wx' : 'r+';
        const channel = await sftp.inOneChannel();
        const handle = await channel.ask<Buffer>(path, (to, done) => to.open(part, flags, { mode }, done));
        return new SftpPart(channel, path, handle, from, mode);
      },
      rename: async (part, path) => {
        const renamed = await sftp.extended(path, (to, done) => to.ext_openssh_rename(part, path, done));
        if (renamed) return;
        await this.#unlink(path);
        await sftp.ask(path, (to, done) => to.rename(part, path, done));
      },
      remove: (part) => this.#unlink(part),
    };
  }

  async stat(path: string): Promise<FileEntry | null> {
    checkedPath(path);
    const [found] = await Promise.all([this.#found(path), this.#keepWithin(path)]);
    return found;
  }

  async list(path: string, page: { readonly limit: number; readonly offset: number }): Promise<FileEntry[] | null> {
    await this.#keepWithin(checkedPath(path));
    const found = await this.#entries(path);
    if (found === null) return null;
    return pageOf(path, [...found.keys()], page).flatMap((name) => {
      const attributes = found.get(name);
      return attributes === undefined ? [] : [entryOf(name, name, attributes, attributes.mtime * 1000)];
    });
  }

  async read(path: string, { start = 0, end = Number.POSITIVE_INFINITY } = {}): Promise<Readable> {
    checkedPath(path);
    // To open a pipe that nobody writes to would hold all that is asked about files there.
    const stat = this.#sftp.ask<Stats>(path, (to, done) => to.stat(path, done));
    const [found] = await Promise.all([stat, this.#keepWithin(path)]);
    if (!found.isFile()) throw notAFile(path);
    const channel = await this.#sftp.inOneChannel();
    const handle = await channel.ask<Buffer>(path, (to, done) => to.open(path, 'r', done));
    return Readable.from(pieces(channel, path, handle, start, end), { objectMode: false });
  }

  async write(...[path, source, options]: Parameters<Files['write']>): Promise<number> {
    const release = this.#sftp.use();
    try {
      await this.#keepWithin(posix.dirname(checkedPath(path)));
      return await writeWhole(this.#parts, path, source, options);
    } finally {
      release();
    }
  }

  async makeDirectory(path: string, mode = 0o700): Promise<void> {
    checkedPath(path);
    // What is above the root is looked at too while the root is not there.
    const isAbove = isWithin(path, this.#root);
    const found = await (isAbove ? this.#found(path) : this.stat(path));
    if (found?.type === 'dir') return;
    if (found !== null) throw notADirectory(path);
    const parent = posix.dirname(path);
    if (parent !== path) await this.makeDirectory(parent, mode);
    try {
      await this.#sftp.ask(path, (to, done) => to.mkdir(path, { mode }, done));
    } catch (error) {
      // Somebody else may have made it meanwhile.
      if ((await this.#found(path))?.type !== 'dir') throw error;
    }
  }

  async remove(path: string): Promise<void> {
    const release = this.#sftp.use();
    try {
      const whole = removable(path);
      await this.#keepWithin(posix.dirname(whole));
      const found = await this.#sftp.absent<Stats>(whole, (to, done) => to.lstat(whole, done));
      if (found !== null) await this.#remove(whole, found.isDirectory());
    } finally {
      release();
    }
  }

  /** @throws FileTrouble when its links lead out of the root. What is not there leads nowhere. */
  async #keepWithin(path: string): Promise<void> {
    const realpath = (of: string) => this.#sftp.absent<string>(of, (to, done) => to.realpath(of, done));
    const [root, real] = await Promise.all([realpath(this.#root), realpath(path)]);
    if (real !== null && !isWithin(root ?? this.#root, real)) throw leadsOut(this.#sftp.system, path);
  }

  async #found(path: string): Promise<FileEntry | null> {
    const found = await this.#sftp.absent<Stats>(path, (to, done) => to.stat(path, done));
    return found === null ? null : entryOf('', posix.basename(path), found, found.mtime * 1000);
  }

  async #remove(path: string, directory: boolean): Promise<void> {
    if (!directory) return this.#unlink(path);
    const entries = [...((await this.#entries(path)) ?? [])];
    for (let at = 0; at < entries.length; at += REMOVED) {
      await Promise.all(
        entries
          .slice(at, at + REMOVED)
          .map(([name, found]) => this.#remove(posix.join(path, name), found.isDirectory())),
      );
    }
    await this.#sftp.absent(path, (to, done) => to.rmdir(path, done));
  }

  async #unlink(path: string): Promise<void> {
    await this.#sftp.absent(path, (to, done) => to.unlink(path, done));
  }

  /** Null: there is no such directory. */
  async #entries(path: string): Promise<ReadonlyMap<string, Stats> | null> {
    const release = this.#sftp.use();
    try {
      const channel = await this.#sftp.inOneChannel();
      const handle = await channel.absent<Buffer>(path, (to, done) => to.opendir(path, done));
      if (handle === null) return null;
      const found = new Map<string, Stats>();
      try {
        for (;;) {
          const some = await channel.untilEnd<readonly FileEntryWithStats[]>(path, (to, done) =>
            to.readdir(handle, done),
          );
          if (some === null) return found;
          for (const { filename, attrs } of some) {
            if (filename !== '.' && filename !== '..') found.set(filename, attrs);
          }
          tooMany(path, found.size);
        }
      } finally {
        await close(channel, path, handle);
      }
    } finally {
      release();
    }
  }
}

/** Several requests ahead of who reads. */
async function* pieces(sftp: Sftp, path: string, handle: Buffer, start: number, end: number): AsyncGenerator<Buffer> {
  const release = sftp.use();
  const asked: { readonly length: number; readonly piece: Promise<Buffer> }[] = [];
  let position = start;
  try {
    for (;;) {
      while (asked.length < AHEAD && position < end) {
        const length = Math.min(PIECE, end - position);
        const piece = pieceAt(sftp, path, handle, position, length);
        // What goes wrong is told when its turn comes.
        piece.catch(() => undefined);
        asked.push({ length, piece });
        position += length;
      }
      const next = asked.shift();
      if (next === undefined) return;
      const piece = await next.piece;
      if (piece.length > 0) yield piece;
      if (piece.length < next.length) return;
    }
  } finally {
    await Promise.allSettled(asked.map(({ piece }) => piece));
    await close(sftp, path, handle).catch(() => undefined);
    release();
  }
}

/** Shorter than asked for only at the end of the file. */
async function pieceAt(sftp: Sftp, path: string, handle: Buffer, position: number, length: number): Promise<Buffer> {
  const piece = Buffer.allocUnsafe(length);
  let done = 0;
  while (done < length) {
    const read = await sftp.untilEnd<number>(path, (to, told) =>
      to.read(handle, piece, done, length - done, position + done, told),
    );
    if (read === null || read === 0) break;
    done += read;
  }
  return piece.subarray(0, done);
}

async function close(sftp: Sftp, path: string, handle: Buffer): Promise<void> {
  await sftp.ask(path, (to, done) => to.close(handle, done));
}
