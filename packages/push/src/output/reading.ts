import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import type { PushController } from '../ports.js';
import { findJobNode, outputExtent, readOutput } from '../repository/reads.js';
import type { JobNodeRow } from '../repository/writes.js';

export type OutputStream = 'stdout' | 'stderr';

const UNFINISHED: ReadonlySet<string> = new Set(['new', 'ready', 'running']);

export function isFinished(row: Pick<JobNodeRow, 'status'>): boolean {
  return !UNFINISHED.has(row.status);
}

/** What is known of one stream before any of it is read. */
export interface OutputSummary {
  /** The node has ended, nothing will be added. */
  readonly ended: boolean;
  /** Why some of it is missing, besides the limit: the command, its agent or its node ended before it could be told. */
  readonly missing: string | null;
  /** Bytes the command wrote that are not stored, because the middle of too much is dropped. */
  readonly dropped: number;
  /** Something may be shown: bytes are stored, or the node told that there were none, or it is running. */
  readonly present: boolean;
}

/** Undefined when the node is not part of the job. */
export async function summarizeOutput(
  read: Kysely<Schema>,
  job: { readonly id: string; readonly capture: boolean },
  node: string,
  stream: OutputStream,
): Promise<OutputSummary | undefined> {
  // PostgreSQL takes no NUL, and no node has one in its name.
  const row = node.includes('\0') ? undefined : await findJobNode(read, job.id, node);
  if (row === undefined) return undefined;
  const { chunks, bytes, end } = await outputExtent(read, job.id, node, stream);
  const told = stream === 'stdout' ? row.stdout_bytes : row.stderr_bytes;
  return {
    ended: isFinished(row),
    missing: row.output_missing,
    dropped: Math.max(told ?? 0, end) - bytes,
    present: chunks > 0 || told !== null || row.output_missing !== null || (job.capture && row.status === 'running'),
  };
}

const CHUNKS_AT_ONCE = 16;

export interface OutputSource {
  readonly read: Kysely<Schema>;
  readonly jobId: string;
  readonly node: string;
  readonly stream: OutputStream;
  /** Position in what the command wrote. */
  readonly from: number;
}

/** Stored bytes in order, a few chunks in memory at a time. */
export async function* storedOutput(source: OutputSource): AsyncGenerator<Uint8Array, number> {
  const { read, jobId, node, stream } = source;
  let { from } = source;
  for (;;) {
    const chunks = await readOutput(read, jobId, node, stream, { from, limit: CHUNKS_AT_ONCE });
    for (const { position, data } of chunks) {
      const known = Math.max(0, from - position);
      from = position + data.length;
      if (known < data.length) yield data.subarray(known);
    }
    if (chunks.length < CHUNKS_AT_ONCE) return from;
  }
}

/**
 * Stored bytes, then what arrives, until the node is finished or `signal` is aborted. Woken by the controller,
 * never by a timer; the store is read again after each wake, so nothing between two reads is lost.
 */
export async function* followedOutput(
  source: OutputSource,
  controller: Pick<PushController, 'onOutput'>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let news = false;
  let wake: (() => void) | null = null;
  const notice = (): void => {
    news = true;
    wake?.();
  };
  const forget = controller.onOutput((output) => {
    if (output.jobId === source.jobId && output.node === source.node) notice();
  });
  signal.addEventListener('abort', notice, { once: true });
  try {
    let from = source.from;
    while (!signal.aborted) {
      news = false;
      // Before the bytes: if the node is finished now, all of them are stored.
      const row = await findJobNode(source.read, source.jobId, source.node);
      from = yield* storedOutput({ ...source, from });
      if (row === undefined || isFinished(row)) return;
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
