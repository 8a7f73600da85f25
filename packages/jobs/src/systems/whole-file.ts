import { addAbortSignal } from 'node:stream';
import { notAFile, partOf, wrongSize } from './paths.js';
import { type FileEntry, type Files, FileTrouble } from './types.js';

/** Where a file is written before it gets its name. */
export interface Part {
  /** In order. It may be on its way when this resolves. */
  write(piece: Buffer): Promise<void>;
  /** All of it is there, for good. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

/** What differs from one kind of system to the next. */
export interface Parts {
  stat(path: string): Promise<FileEntry | null>;
  /** Bytes of the part that an earlier attempt is certain to have written. */
  kept(part: string): Promise<number>;
  /** What stands after `from` is overwritten, or gone when it is 0. */
  open(path: string, part: string, from: number, mode: number): Promise<Part>;
  /** What had that name is gone. */
  rename(part: string, path: string): Promise<void>;
  remove(part: string): Promise<void>;
}

/** A file gets its name when it is whole; see `Files.write`. */
export async function writeWhole(
  parts: Parts,
  path: string,
  source: Parameters<Files['write']>[1],
  { mode = 0o600, size, signal }: Parameters<Files['write']>[2],
): Promise<number> {
  const name = partOf(path);
  try {
    signal?.throwIfAborted();
    if ((await parts.stat(path))?.type === 'dir') throw notAFile(path);
    const kept = size === undefined ? 0 : await parts.kept(name);
    const from = size !== undefined && kept > size ? 0 : kept;
    const part = await parts.open(path, name, from, mode);
    let written = from;
    try {
      if (size === undefined || from < size) {
        const readable = await source(from);
        for await (const piece of signal === undefined ? readable : addAbortSignal(signal, readable)) {
          written += piece.length;
          if (size !== undefined && written > size) throw wrongSize(path, size, 'more came');
          await part.write(piece);
        }
      }
      await part.finish();
    } finally {
      await part.close();
    }
    if (size !== undefined && written !== size) throw wrongSize(path, size, `${written} came`);
    await parts.rename(name, path);
    return written;
  } catch (error) {
    const resumable = size !== undefined && !(error instanceof FileTrouble && error.problem === 'WRONG_SIZE');
    if (!resumable) await parts.remove(name).catch(() => undefined);
    signal?.throwIfAborted();
    throw error;
  }
}

/** Of an error of a stream, what it means. */
export async function* readTold(
  stream: AsyncIterable<Buffer>,
  told: (error: unknown) => unknown,
): AsyncGenerator<Buffer> {
  try {
    yield* stream;
  } catch (error) {
    throw told(error);
  }
}
