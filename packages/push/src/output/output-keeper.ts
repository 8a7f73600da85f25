import type { Store, Write } from '@muster/store';
import type { AgentMessage, Stream } from '@muster/wire';
import type { LiveJob } from '../controller/live-job.js';
import { outputEnds } from '../repository/reads.js';
import { appendOutput } from '../repository/writes.js';

/** Chunks are stored in pieces of at most this many bytes, whatever a dialect sends at once. */
const PIECE_BYTES = 65_536;

/** How far a stream has come. */
interface StreamState {
  /** Position after the last byte received. */
  end: number;
  /** Bytes kept; fewer than `end` when the middle was dropped. */
  kept: number;
  /** Position below which everything received is durable: only so far is the agent told, for it forgets what is safe. */
  durable: number;
  /** Writes that the store has not answered yet. */
  writing: number;
}

const untouched = (): StreamState => ({ end: 0, kept: 0, durable: 0, writing: 0 });

interface NodeOutput {
  stdout: StreamState;
  stderr: StreamState;
  /** What the command wrote in all, told with its result. */
  totals: { stdout: number; stderr: number } | null;
}

export interface OutputKeeperDeps {
  readonly store: Pick<Store, 'persist' | 'read'>;
  /** Most bytes kept per node and stream. */
  readonly limit: number;
  /** Everything below `offset` is durable. */
  readonly stored: (orgId: string, jobId: string, node: string, stream: Stream, offset: number) => void;
  readonly failed: (error: unknown) => void;
}

/** Takes captured output of running nodes to the store and tells the agent how far it is safe. */
export class OutputKeeper {
  readonly #deps: OutputKeeperDeps;
  readonly #jobs = new Map<string, Map<string, NodeOutput>>();
  readonly #pending = new Set<Promise<void>>();

  constructor(deps: OutputKeeperDeps) {
    this.#deps = deps;
  }

  /** After a restart: where each stream stood. */
  async load(jobId: string): Promise<void> {
    for (const { node, stream, end, kept } of await outputEnds(this.#deps.store.read, jobId)) {
      this.#of(jobId, node)[stream] = { end, kept, durable: end, writing: 0 };
    }
  }

  /** A piece of a stream. Repeated pieces are acknowledged as far as they are durable, not stored twice. */
  chunk(job: LiveJob, node: string, chunk: Extract<AgentMessage, { type: 'output' }>): void {
    const { stream } = chunk;
    const writes = this.#accept(job, node, stream, chunk.offset, chunk.data);
    const state = this.#of(job.id, node)[stream];
    const { end } = state;
    state.writing += 1;
    this.#store(writes, () => {
      state.writing -= 1;
      // The store answers in the order of the writes; a piece that needed none may not overtake those before it.
      if (writes.length > 0) state.durable = Math.max(state.durable, end);
      if (state.writing === 0) state.durable = state.end;
      this.#deps.stored(job.org.id, job.id, node, stream, state.durable);
    });
  }

  /** The result of a command: its totals, and in dialects that do not stream the output itself. */
  finish(job: LiveJob, node: string, result: Extract<AgentMessage, { type: 'finished' }>): void {
    if (result.output !== null) {
      const writes = [
        ...this.#accept(job, node, 'stdout', 0, result.output.stdout),
        ...this.#accept(job, node, 'stderr', 0, result.output.stderr),
      ];
      this.#store(writes, () => undefined);
      this.#of(job.id, node).totals = { stdout: result.output.stdout.length, stderr: result.output.stderr.length };
    }
    if (result.bytes !== null) this.#of(job.id, node).totals = result.bytes;
  }

  /** Whether the node told how much its command wrote, which it does once all that it kept of it is stored. */
  isWhole(jobId: string, node: string): boolean {
    return (this.#jobs.get(jobId)?.get(node)?.totals ?? null) !== null;
  }

  /** Bytes written so far, or in all once the result has told; null when nothing was captured. */
  totals(jobId: string, node: string): { stdout: number; stderr: number } | null {
    const output = this.#jobs.get(jobId)?.get(node);
    if (output === undefined) return null;
    return output.totals ?? { stdout: output.stdout.end, stderr: output.stderr.end };
  }

  forget(jobId: string): void {
    this.#jobs.delete(jobId);
  }

  /** Resolves when everything handed to the store has been answered for. */
  async settled(): Promise<void> {
    await Promise.all(this.#pending);
  }

  #accept(job: LiveJob, node: string, stream: Stream, offset: number, data: Uint8Array): Write[] {
    const state = this.#of(job.id, node)[stream];
    const skip = Math.max(state.end - offset, 0);
    if (skip >= data.length) return [];
    const fresh = data.subarray(skip, skip + Math.max(this.#deps.limit - state.kept, 0));
    const start = offset + skip;
    const writes: Write[] = [];
    for (let at = 0; at < fresh.length; at += PIECE_BYTES) {
      const piece = fresh.subarray(at, at + PIECE_BYTES);
      writes.push(appendOutput({ job_id: job.id, node, stream, position: start + at, data: piece }));
    }
    state.kept += fresh.length;
    // What is beyond the limit counts as received: the gap tells the reader.
    state.end = offset + data.length;
    return writes;
  }

  #store(writes: readonly Write[], then: () => void): void {
    if (writes.length === 0) {
      then();
      return;
    }
    const pending: Promise<void> = this.#deps.store
      .persist(writes)
      .then(then, this.#deps.failed)
      .finally(() => this.#pending.delete(pending));
    this.#pending.add(pending);
  }

  #of(jobId: string, node: string): NodeOutput {
    const nodes = this.#jobs.get(jobId) ?? new Map<string, NodeOutput>();
    this.#jobs.set(jobId, nodes);
    const output = nodes.get(node) ?? {
      stdout: untouched(),
      stderr: untouched(),
      totals: null,
    };
    nodes.set(node, output);
    return output;
  }
}
