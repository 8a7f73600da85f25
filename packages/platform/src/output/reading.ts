import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { extentOf, readChunks } from './chunks.js';
import type { OutputFollowers } from './followers.js';
import { OUTPUT_LIMITS } from './limits.js';
import type { SourceStanding, SourceStream } from './types.js';

type Read = Kysely<Schema>;

/** What is known of one stream before any of it is read. */
export interface OutputSummary {
  /** Bytes that are stored. */
  readonly size: number;
  /** Bytes that the command wrote and that are not stored, because the middle of too much is dropped. */
  readonly dropped: number;
  /** Something may be shown: bytes are stored, or it was told that there were none, or the command is running. */
  readonly present: boolean;
}

export async function summarizeOutput(
  read: Read,
  of: SourceStream,
  { captured, running, written, missing, inline }: SourceStanding,
): Promise<OutputSummary> {
  const whole = inline?.[of.stream] ?? null;
  if (whole !== null) return { size: whole.length, dropped: 0, present: true };
  const { chunks, bytes, end } = await extentOf(read, of);
  const told = written[of.stream];
  return {
    size: bytes,
    dropped: Math.max(told ?? 0, end) - bytes,
    present: chunks > 0 || told !== null || missing !== null || (captured && running),
  };
}

/**
 * Stored bytes in order, a few chunks in memory at a time; returns where the next would be.
 * @param from First byte, as counted by the command.
 * @param most So many bytes, if there are.
 */
export async function* storedOutput(
  read: Read,
  of: SourceStream,
  from: number,
  most = Number.POSITIVE_INFINITY,
): AsyncGenerator<Uint8Array, number> {
  const limit = OUTPUT_LIMITS.chunksRead;
  let next = from;
  let left = most;
  for (;;) {
    const chunks = await readChunks(read, of, { from: next, limit });
    for (const { position, data } of chunks) {
      const known = Math.max(0, next - position);
      next = position + data.length;
      const wanted = data.subarray(known, known + left);
      left -= wanted.length;
      if (wanted.length > 0) yield wanted;
      if (left === 0) return next;
    }
    if (chunks.length < limit) return next;
  }
}

/** The first bytes that are stored, at most so many. */
export async function beginningOfOutput(read: Read, of: SourceStream, most: number): Promise<Buffer> {
  const found: Uint8Array[] = [];
  // Mostly it is one chunk; a large one is not read for its beginning together with others.
  for (let from = 0, left = most; left > 0; ) {
    const [chunk] = await readChunks(read, of, { from, limit: 1 });
    if (chunk === undefined) break;
    found.push(chunk.data.subarray(0, left));
    left -= chunk.data.length;
    from = chunk.position + chunk.data.length;
  }
  return Buffer.concat(found);
}

export interface FollowedOutput {
  readonly read: Read;
  readonly followers: Pick<OutputFollowers, 'follow'>;
  /** Undefined when the source is gone. */
  readonly standingOf: () => Promise<Pick<SourceStanding, 'ended' | 'inline'> | undefined>;
}

/**
 * Stored bytes, then what arrives, until the source has ended or `signal` is aborted. Woken by who stores, never by a
 * timer; the store is read again after each wake, so nothing between two reads is lost.
 */
export async function* followedOutput(
  { read, followers, standingOf }: FollowedOutput,
  of: SourceStream,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let news = false;
  let wake: (() => void) | null = null;
  const notice = (): void => {
    news = true;
    wake?.();
  };
  const forget = followers.follow(of, notice);
  signal.addEventListener('abort', notice, { once: true });
  try {
    let next = from;
    while (!signal.aborted) {
      news = false;
      // Before the bytes: if the source has ended now, all of them are stored.
      const standing = await standingOf();
      const whole = standing?.inline?.[of.stream] ?? null;
      if (whole !== null) {
        if (next < whole.length) yield whole.subarray(next);
        return;
      }
      next = yield* storedOutput(read, of, next);
      if (standing === undefined || standing.ended) return;
      if (!news && !signal.aborted) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        wake = null;
      }
    }
  } finally {
    forget();
  }
}
