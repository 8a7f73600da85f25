import type { TurnShare } from '@muster/base';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { readChunks, streamAfter } from './chunks.js';
import { OUTPUT_LIMITS } from './limits.js';
import type { SourceStream } from './types.js';

/** Bytes of a stream, and where they begin in what the command wrote. */
export interface LivePiece extends SourceStream {
  readonly offset: number;
  readonly data: Uint8Array;
}

/** Nothing more comes of what this part of the subject wrote. */
export interface LiveEnd {
  readonly ended: string;
}

/**
 * What waits for one reader of everything that belongs to a subject. Bounded: streams that do not fit any more are read
 * from the store, so that a slow reader costs neither memory nor bytes, and holds nobody up.
 */
export class LiveReader {
  #pieces: LivePiece[] = [];
  #size = 0;
  #behind = new Map<string, SourceStream>();
  #endedParts = new Set<string>();
  #ended = false;
  #news = false;
  #wake: (() => void) | null = null;

  /** These bytes are stored. */
  push(piece: LivePiece): void {
    const key = keyOf(piece);
    if (!this.#behind.has(key)) {
      const size = piece.data.length + OUTPUT_LIMITS.livePieceBytes;
      if (this.#size + size > OUTPUT_LIMITS.liveBytes) this.#behind.set(key, piece);
      else {
        this.#pieces.push(piece);
        this.#size += size;
      }
    }
    this.#notify();
  }

  /** Everything stored of this stream is to be read. */
  reread(of: SourceStream): void {
    this.#behind.set(keyOf(of), of);
    this.#notify();
  }

  /** Nothing more is stored of this part. */
  endPart(part: string): void {
    this.#endedParts.add(part);
    this.#notify();
  }

  /** Nothing more is stored. */
  end(): void {
    this.#ended = true;
    this.#notify();
  }

  /** What waits now, in order. `behind`: read from the store after `pieces`, and before `endedParts` have ended. */
  take(): {
    readonly pieces: readonly LivePiece[];
    readonly behind: Iterable<SourceStream>;
    readonly endedParts: Iterable<string>;
    readonly ended: boolean;
  } {
    const taken = {
      pieces: this.#pieces,
      behind: this.#behind.values(),
      endedParts: this.#endedParts.values(),
      ended: this.#ended,
    };
    this.#pieces = [];
    this.#size = 0;
    this.#behind = new Map();
    this.#endedParts = new Set();
    this.#news = false;
    return taken;
  }

  /** Resolves when there is something to take. One caller at a time. */
  async news(): Promise<void> {
    if (this.#news) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  #notify(): void {
    this.#news = true;
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}

/** Who reads everything that belongs to a subject. A subject costs nothing while nobody does. */
export class LiveReaders {
  readonly #readers = new Map<string, Set<LiveReader>>();

  open(subject: string): LiveReader {
    const reader = new LiveReader();
    const readers = this.#readers.get(subject) ?? new Set();
    readers.add(reader);
    this.#readers.set(subject, readers);
    return reader;
  }

  close(subject: string, reader: LiveReader): void {
    const readers = this.#readers.get(subject);
    readers?.delete(reader);
    if (readers?.size === 0) this.#readers.delete(subject);
  }

  push(piece: LivePiece): void {
    for (const reader of this.#readers.get(piece.subject) ?? []) reader.push(piece);
  }

  /** Nothing more is stored of these parts of the subject. */
  endParts(subject: string, parts: readonly string[]): void {
    for (const reader of this.#readers.get(subject) ?? []) for (const part of parts) reader.endPart(part);
  }

  /** Nothing more is stored of the subject. */
  end(subject: string): void {
    for (const reader of this.#readers.get(subject) ?? []) reader.end();
  }

  /** Subjects that somebody reads. */
  get size(): number {
    return this.#readers.size;
  }
}

export interface LiveOutputDeps {
  readonly read: Kysely<Schema>;
  readonly readers: Pick<LiveReaders, 'open' | 'close'>;
  /** Whether nothing is added to the subject any more, and all that was added is stored. */
  readonly hasEnded: () => Promise<boolean>;
  /** The parts of which that is so. */
  readonly endedParts: () => Promise<readonly string[]>;
  /** For reading: what is in SQLite is there at once, so that many streams would be read in one turn. */
  readonly share: Pick<TurnShare, 'used' | 'free'>;
}

/**
 * What is stored of all streams of a subject, then what arrives, each stream in order, until the subject has ended or
 * `signal` is aborted. An offset beyond the end of the piece before it tells how much was dropped in between. After the last
 * piece of a part comes its end, if there was a piece.
 */
export async function* liveOutput(
  { read, readers, hasEnded, endedParts, share }: LiveOutputDeps,
  subject: string,
  signal: AbortSignal,
): AsyncGenerator<LivePiece | LiveEnd> {
  const reader = readers.open(subject);
  const leave = (): void => reader.end();
  signal.addEventListener('abort', leave, { once: true });
  /** Where each stream goes on. */
  const next = new Map<string, number>();
  const written = new Set<string>();
  async function* stored(of: SourceStream): AsyncGenerator<LivePiece> {
    const { part, stream } = of;
    for (;;) {
      if (share.used) await share.free();
      const from = next.get(keyOf(of)) ?? 0;
      const chunks = await readChunks(read, of, { from, limit: OUTPUT_LIMITS.chunksRead });
      for (const { position, data } of chunks) {
        const offset = Math.max(from, position);
        next.set(keyOf(of), position + data.length);
        written.add(part);
        yield { subject, part, stream, offset, data: data.subarray(offset - position) };
        if (signal.aborted) return;
      }
      if (chunks.length < OUTPUT_LIMITS.chunksRead) return;
    }
  }
  try {
    if (await hasEnded()) reader.end();
    for (
      let of = await streamAfter(read, subject, undefined);
      of !== undefined;
      of = await streamAfter(read, subject, of)
    ) {
      reader.reread(of);
      if (share.used) await share.free();
    }
    for (const part of await endedParts()) reader.endPart(part);
    while (!signal.aborted) {
      const { pieces, behind, endedParts: parts, ended } = reader.take();
      for (const piece of pieces) {
        const known = next.get(keyOf(piece)) ?? 0;
        const end = piece.offset + piece.data.length;
        if (end <= known) continue;
        if (piece.offset > known) {
          // Something before it was dropped, or stored before anybody read.
          yield* stored(piece);
          continue;
        }
        next.set(keyOf(piece), end);
        written.add(piece.part);
        yield { ...piece, offset: known, data: piece.data.subarray(known - piece.offset) };
        if (signal.aborted) return;
      }
      for (const of of behind) yield* stored(of);
      for (const part of parts) if (written.delete(part)) yield { ended: part };
      if (ended) return;
      await reader.news();
    }
  } finally {
    signal.removeEventListener('abort', leave);
    readers.close(subject, reader);
  }
}

/** Within a subject; no name of a part has a blank in it. */
function keyOf({ part, stream }: SourceStream): string {
  return `${stream} ${part}`;
}
