import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { MusterError } from '../../errors.js';
import { linesOfFile } from '../../lines.js';

/** A dump of Disbatch: files of mongoexport, a document a line. */

/** In the order in which they are taken: each needs what comes before it. */
export const COLLECTIONS = ['queues', 'nodes', 'balance', 'tasks', 'tasks.files', 'tasks.chunks'] as const;
export type Collection = (typeof COLLECTIONS)[number];

export interface DumpFile {
  readonly collection: Collection;
  readonly path: string;
}

/** What is sent of a document: itself, or pieces of it. */
export interface DumpRecord {
  readonly collection: Collection;
  readonly line: number;
  readonly document: unknown;
}

/** A document of MongoDB has at most 16 MiB; Extended JSON may be some times as long. */
const LINE_BYTES = 256 * 1024 * 1024;
/** Output up to so many bytes goes with its task. */
const INLINE_BYTES = 16_384;
/** Of one piece of output; 16 of them hold a chunk of a file. */
const PIECE_BYTES = 131_072;
/** Output of a task is sent as chunks of so many bytes. */
const CHUNK_BYTES = 255 * 1024;

/** The files of a dump that there are. @throws MusterError `usage` when there is none. */
export function filesOf(directory: string): readonly DumpFile[] {
  if (!existsSync(directory)) throw new MusterError('usage', { reason: `there is no directory ${directory}` });
  const files = COLLECTIONS.flatMap((collection) => {
    const names = [`${collection}.json`, `${collection}.jsonl`, collection];
    const path = names.map((name) => join(directory, name)).find((one) => existsSync(one));
    return path === undefined ? [] : [{ collection, path }];
  });
  if (files.length > 0) return files;
  const reason = `${directory} has no ${COLLECTIONS.map((name) => `${name}.json`).join(', ')}`;
  throw new MusterError('usage', { reason });
}

/** A line of a file that is no document. */
export interface BadLine {
  readonly collection: Collection;
  readonly line: number;
  readonly error: string;
}

/** Records of a file, one document in memory at a time. */
export async function* recordsOf(
  { collection, path }: DumpFile,
  refused: (bad: BadLine) => void,
): AsyncGenerator<DumpRecord> {
  for await (const { line, text } of linesOfFile(path, LINE_BYTES)) {
    if (line === 1 && text.trimStart().startsWith('[')) {
      throw new MusterError('usage', { reason: `${path} is one list: export without --jsonArray` });
    }
    try {
      const document: unknown = JSON.parse(text);
      if (typeof document !== 'object' || document === null || Array.isArray(document))
        throw new Error('it is no object');
      yield* [...pieces(collection, line, document as Document)];
    } catch (error) {
      refused({ collection, line, error: error instanceof Error ? error.message : String(error) });
    }
  }
}

type Document = { readonly [name: string]: unknown };

function* pieces(collection: Collection, line: number, document: Document): Generator<DumpRecord> {
  if (collection === 'tasks') yield* taskAndOutput(line, document);
  else if (collection === 'tasks.chunks')
    yield* chunk(line, document.files_id, Number(plain(document.n)), bytesOf(document.data));
  else yield { collection, line, document };
}

/** Long output of a task goes by itself, as if it had been in a file. */
function* taskAndOutput(line: number, document: Document): Generator<DumpRecord> {
  const long = (['stdout', 'stderr'] as const).flatMap((filename) => {
    const text = document[filename];
    if (typeof text !== 'string') return [];
    const bytes = Buffer.from(text);
    return bytes.length > INLINE_BYTES ? [{ filename, bytes }] : [];
  });
  const without = Object.fromEntries(long.map(({ filename }) => [filename, null]));
  yield { collection: 'tasks', line, document: { ...document, ...without } };
  for (const { filename, bytes } of long) {
    const id = `${String(plain(document._id))}:${filename}`;
    const file = { _id: id, filename, metadata: { task_id: document._id } };
    yield { collection: 'tasks.files', line, document: file };
    for (let n = 0; n * CHUNK_BYTES < bytes.length; n++) {
      yield* chunk(line, id, n, bytes.subarray(n * CHUNK_BYTES, (n + 1) * CHUNK_BYTES));
    }
  }
}

function* chunk(line: number, files_id: unknown, n: number, bytes: Buffer): Generator<DumpRecord> {
  const parts = Math.max(1, Math.ceil(bytes.length / PIECE_BYTES));
  for (let part = 0; part < parts; part++) {
    const data = bytes.subarray(part * PIECE_BYTES, (part + 1) * PIECE_BYTES).toString('base64');
    yield { collection: 'tasks.chunks', line, document: { files_id, n, part, parts, data } };
  }
}

/** Numbers and ids of Extended JSON. */
function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const [inner] = Object.values(value);
  return inner;
}

/** Text, as the original stores it, or binary in either version of Extended JSON. */
function bytesOf(data: unknown): Buffer {
  if (typeof data === 'string') return Buffer.from(data);
  const binary = typeof data === 'object' && data !== null && '$binary' in data ? data.$binary : undefined;
  if (typeof binary === 'string') return Buffer.from(binary, 'base64');
  if (typeof binary === 'object' && binary !== null && 'base64' in binary) {
    return Buffer.from(String(binary.base64), 'base64');
  }
  throw new Error('data must be text or binary');
}
