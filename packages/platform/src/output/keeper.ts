import { createHash, type Hash } from 'node:crypto';
import type { Clock } from '@muster/base';
import type { Store, Write } from '@muster/store';
import { AnswerPace } from './answer-pace.js';
import { appendChunk, extentsOf } from './chunks.js';
import { OutputFollowers } from './followers.js';
import { OUTPUT_LIMITS } from './limits.js';
import { LiveReaders } from './live.js';
import { storedOutput } from './reading.js';
import type { OutputSource, OutputTotals, SourceStream } from './types.js';

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
  /** Of all bytes kept; null while there are none. */
  hash: Hash | null;
}

const untouched = (): StreamState => ({ end: 0, kept: 0, durable: 0, writing: 0, hash: null });

interface SourceState {
  stdout: StreamState;
  stderr: StreamState;
  /** What the command wrote in all, told with its result. */
  totals: OutputTotals | null;
}

/** What comes with the end of a command. */
export interface OutputResult {
  /** All that it wrote, in dialects that do not stream it. */
  readonly output: { readonly stdout: Uint8Array; readonly stderr: Uint8Array } | null;
  /** How much it wrote, where it was streamed. */
  readonly bytes: OutputTotals | null;
}

/** A piece of a stream: `offset` is where it begins in what the command wrote. */
export interface OutputPiece {
  readonly offset: number;
  readonly data: Uint8Array;
}

export interface OutputKeeperDeps {
  readonly store: Pick<Store, 'persist' | 'read'>;
  readonly clock: Clock;
  /** Most bytes kept of each stream of a source. */
  readonly limitOf: (of: OutputSource) => number;
  /** Whether outputs are to be told apart by hashes. */
  readonly hashed?: boolean;
  readonly failed: (error: unknown) => void;
}

/** Takes output of commands that run to the store, tells who brings it how far it is safe, and those who follow it that there is more. */
export class OutputKeeper {
  readonly followers = new OutputFollowers();
  readonly readers = new LiveReaders();
  readonly #deps: OutputKeeperDeps;
  readonly #subjects = new Map<string, Map<string, SourceState>>();
  readonly #pending = new Set<Promise<void>>();
  readonly #pace: AnswerPace<StreamState>;

  constructor(deps: OutputKeeperDeps) {
    this.#deps = deps;
    this.#pace = new AnswerPace(deps.clock);
  }

  /** After a restart: where each stream of a subject stood. `open`: the parts to whose output more may be added. */
  async load(subject: string, open?: ReadonlySet<string>): Promise<void> {
    const { read } = this.#deps.store;
    for (const { part, stream, end, bytes } of await extentsOf(read, subject)) {
      const hash = this.#deps.hashed === true && open?.has(part) === true ? createHash('sha256') : null;
      if (hash !== null) for await (const data of storedOutput(read, { subject, part, stream }, 0)) hash.update(data);
      this.#stateOf({ subject, part })[stream] = { end, kept: bytes, durable: end, writing: 0, hash };
    }
  }

  /**
   * A piece that is repeated is not stored twice.
   * @param stored Everything of the stream below this offset is durable: who sent it may forget so much.
   */
  take(of: SourceStream, { offset, data }: OutputPiece, stored: (below: number) => void): void {
    const { writes, fresh } = this.#accept(of, offset, data);
    const state = this.#stateOf(of)[of.stream];
    const { end } = state;
    state.writing += 1;
    this.#store(writes, () => {
      state.writing -= 1;
      // The store answers in the order of the writes; a piece that needed none may not overtake those before it.
      if (writes.length > 0) state.durable = Math.max(state.durable, end);
      if (state.writing === 0) state.durable = state.end;
      const answer = (): void => stored(state.durable);
      if (offset === 0 || data.length >= OUTPUT_LIMITS.largeBytes) this.#pace.now(state, answer);
      else this.#pace.inTurn(state, answer);
      this.#tell(of, fresh);
    });
  }

  /** The command has ended: nothing of it comes after this. */
  finish(of: OutputSource, { output, bytes }: OutputResult): void {
    if (output !== null) {
      for (const stream of ['stdout', 'stderr'] as const) {
        const { writes, fresh } = this.#accept({ ...of, stream }, 0, output[stream]);
        this.#store(writes, () => this.#tell({ ...of, stream }, fresh));
      }
      this.#stateOf(of).totals = { stdout: output.stdout.length, stderr: output.stderr.length };
    }
    if (bytes !== null) this.#stateOf(of).totals = bytes;
  }

  /** Whether it was told how much the command wrote, which happens once all that is kept of it is stored. */
  isWhole(of: OutputSource): boolean {
    return (this.#find(of)?.totals ?? null) !== null;
  }

  /** Bytes written so far, or in all once the result has told; null when nothing was captured. */
  totals(of: OutputSource): OutputTotals | null {
    const state = this.#find(of);
    if (state === undefined) return null;
    return state.totals ?? { stdout: state.stdout.end, stderr: state.stderr.end };
  }

  /**
   * Equal for outputs of which the same bytes were kept, on either stream: 64 digits, made of what came, and never of what
   * is read again. Null when nothing was captured.
   */
  hash(of: OutputSource): string | null {
    const state = this.#find(of);
    if (state === undefined || this.#deps.hashed !== true) return null;
    return digestOf(state.stdout) + digestOf(state.stderr);
  }

  /** Nothing of the subject comes any more. */
  forget(subject: string): void {
    this.#subjects.delete(subject);
  }

  /** Resolves when everything handed to the store has been answered for. */
  async settled(): Promise<void> {
    await Promise.all(this.#pending);
    this.#pace.end();
  }

  #tell(of: SourceStream, piece: OutputPiece | null): void {
    this.followers.tell(of);
    if (piece !== null) this.readers.push({ ...of, ...piece });
  }

  /** `fresh`: what is kept of it, null when nothing. */
  #accept(
    of: SourceStream,
    offset: number,
    data: Uint8Array,
  ): { readonly writes: readonly Write[]; readonly fresh: OutputPiece | null } {
    const { subject, part, stream } = of;
    const state = this.#stateOf(of)[stream];
    const skip = Math.max(state.end - offset, 0);
    if (skip >= data.length) return { writes: [], fresh: null };
    const fresh = data.subarray(skip, skip + Math.max(this.#deps.limitOf(of) - state.kept, 0));
    const start = offset + skip;
    const writes: Write[] = [];
    for (let at = 0; at < fresh.length; at += OUTPUT_LIMITS.chunkBytes) {
      const chunk = fresh.subarray(at, at + OUTPUT_LIMITS.chunkBytes);
      writes.push(appendChunk({ subject, part, stream, position: start + at, data: chunk }));
    }
    if (this.#deps.hashed === true && fresh.length > 0) {
      state.hash ??= createHash('sha256');
      state.hash.update(fresh);
    }
    state.kept += fresh.length;
    // What is beyond the limit counts as received: the gap tells the reader.
    state.end = offset + data.length;
    return { writes, fresh: fresh.length === 0 ? null : { offset: start, data: fresh } };
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

  #find({ subject, part }: OutputSource): SourceState | undefined {
    return this.#subjects.get(subject)?.get(part);
  }

  #stateOf({ subject, part }: OutputSource): SourceState {
    const sources = this.#subjects.get(subject) ?? new Map<string, SourceState>();
    this.#subjects.set(subject, sources);
    const state = sources.get(part) ?? { stdout: untouched(), stderr: untouched(), totals: null };
    sources.set(part, state);
    return state;
  }
}

const NOTHING = '0'.repeat(32);

function digestOf({ hash }: StreamState): string {
  return hash === null ? NOTHING : hash.copy().digest('hex').slice(0, 32);
}
