import { isUtf8 } from 'node:buffer';
import type { Clock, Timer } from '@muster/base';
import { limitReason, type Progress } from '@muster/plugin/contract';
import { LIMITS, type Stream, type TaskRef } from '@muster/wire';
import { masked } from '../../execution/mask.js';
import { CommandOutput, type OutputPiece } from '../../execution/output.js';
import { LIVE_AFTER_MS, PROGRESS_MS } from '../../limits.js';
import { type End, type Ending, endNews } from '../machine.js';
import type { FromHost, HeldAttempt, RunOrder } from '../protocol.js';

/** How a plugin came to its end. */
export interface Verdict {
  readonly status: number;
  readonly retry: boolean;
  readonly reason: string | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Added to what was written; null: nothing. */
  readonly stdout: string | null;
  readonly stderr: string | null;
  /** It was killed, with all its processes, before it had ended; `forced`: it did not end when it was asked to. */
  readonly killed: { readonly forced: boolean } | null;
}

/** What is told of a run as it goes on. */
export interface RunEvents {
  started(): void;
  progress(progress: Progress): void;
  write(stream: Stream, data: Uint8Array): void;
  /** Once. All its processes are gone, but for those it left behind on purpose. */
  ended(verdict: Verdict): void;
  /** It cannot be ended without the process that it runs in. */
  stuck(verdict: Verdict): void;
}

/** A run that goes on. */
export interface Run {
  /** Ends it with all its processes, after a grace; safe to repeat. `why`: a sentence for the plugin. */
  kill(why: string): void;
}

/** How tasks are run. */
export interface TaskRunner {
  begin(order: RunOrder, events: RunEvents): Run;
  /** The host ends; nothing runs. */
  leave(): void;
}

export interface AttemptSurroundings {
  readonly clock: Clock;
  readonly tell: (message: FromHost) => void;
  /** There may be output to take. */
  readonly readable: (attempt: Attempt) => void;
  /** It has come to its end, or cannot without its process. */
  readonly changed: () => void;
}

/** One attempt that a host has: runs it, keeps its output and how it ended until the server has them. */
export class Attempt implements RunEvents {
  readonly ref: TaskRef;
  readonly #order: RunOrder;
  readonly #around: AttemptSurroundings;
  /** Most tasks write nothing. */
  #written: CommandOutput | null = null;
  readonly #beganAt: number;
  #run: Run | null = null;
  #timers: Partial<Record<'limit' | 'live' | 'progress', Timer>> = {};
  /** Why it is being killed. */
  #killing: 'cancel' | 'limit' | null = null;
  /** Its output is sent as it comes. */
  #live = false;
  #progress: Progress | null = null;
  #ending: Ending | null = null;
  #end: End | null = null;
  #stuck = false;

  constructor(order: RunOrder, around: AttemptSurroundings) {
    const { id, attempt } = order.task;
    this.ref = { id, attempt };
    this.#order = order;
    this.#around = around;
    this.#beganAt = around.clock.monotonic();
  }

  /** Values that are nowhere shown. */
  get #secrets(): readonly string[] {
    return Object.values(this.#order.secrets ?? {});
  }

  get #output(): CommandOutput {
    if (this.#written === null) {
      this.#written = new CommandOutput(this.#order.task.outputLimit, true);
      if (this.#secrets.length > 0) this.#written.mask(this.#secrets);
    }
    return this.#written;
  }

  begin(runner: TaskRunner): void {
    const { timeoutMs } = this.#order;
    if (timeoutMs !== null) this.#timers.limit = this.#around.clock.after(timeoutMs, () => this.#kill('limit'));
    this.#run = runner.begin(this.#order, this);
    if (this.#killing !== null) this.#run.kill(this.#why());
  }

  /** Null while it has not ended, or its output is on its way. */
  get end(): End | null {
    return this.#end;
  }

  get isStuck(): boolean {
    return this.#stuck;
  }

  get held(): HeldAttempt {
    const { plugin, timeoutMs, graceMs } = this.#order;
    const end = this.#end === null ? null : endNews(this.ref, this.#end);
    return { ...this.ref, plugin: plugin.name, timeoutMs, graceMs, ending: this.#ending, end };
  }

  cancel(): void {
    this.#kill('cancel');
  }

  #kill(why: 'cancel' | 'limit'): void {
    if (this.#ending !== null || this.#end !== null) return;
    this.#killing ??= why;
    this.#run?.kill(this.#why());
  }

  #why(): string {
    return this.#killing === 'limit' ? limitReason(this.#order.timeoutMs ?? 0) : 'the task was cancelled';
  }

  started(): void {
    const { id, attempt } = this.ref;
    this.#around.tell({ t: 'news', news: { id, attempt, event: 'started' } });
  }

  /** Only the latest is told, and not too often. */
  progress(progress: Progress): void {
    if (this.#ending !== null || this.#end !== null) return;
    this.#progress = { ...progress, text: masked(progress.text, this.#secrets) };
    if (this.#timers.progress === undefined) this.#tellProgress();
  }

  #tellProgress(): void {
    const progress = this.#progress;
    this.#progress = null;
    if (progress === null || this.#ending !== null || this.#end !== null) return;
    this.#around.tell({ t: 'news', news: { ...this.ref, event: 'progress', ...progress } });
    this.#timers.progress = this.#around.clock.after(PROGRESS_MS, () => {
      delete this.#timers.progress;
      this.#tellProgress();
    });
  }

  write(stream: Stream, data: Uint8Array): void {
    if (this.#ending !== null || this.#end !== null) return;
    this.#output.write(stream, data);
    if (this.#live) return this.#around.readable(this);
    if ((this.#output.bytes?.[stream] ?? 0) > this.#order.inlineBytes) return this.#goLive();
    const waits = LIVE_AFTER_MS - (this.#around.clock.monotonic() - this.#beganAt);
    this.#timers.live ??= this.#around.clock.after(waits, () => this.#goLive());
  }

  #goLive(): void {
    this.#live = true;
    this.#around.readable(this);
  }

  ended(verdict: Verdict): void {
    if (this.#end !== null) return;
    // A stuck one that ends after all has been told already.
    if (this.#ending === null) this.#conclude(verdict);
  }

  stuck(verdict: Verdict): void {
    if (this.#ending !== null || this.#end !== null) return;
    this.#stuck = true;
    this.#conclude(verdict);
    this.#around.changed();
  }

  #conclude(verdict: Verdict): void {
    for (const timer of Object.values(this.#timers)) timer.cancel();
    if (verdict.stdout !== null) this.#output.write('stdout', Buffer.from(verdict.stdout));
    if (verdict.stderr !== null) this.#output.write('stderr', Buffer.from(verdict.stderr));
    this.#written?.end();
    const texts = this.#inline(verdict);
    const ending = this.#endingOf(verdict, texts);
    this.#ending = ending;
    if (texts !== null && !this.#stuck) return this.#finish(ending);
    this.#around.tell({ t: 'ending', ...this.ref, ending });
    this.#live = true;
    const look = (): void => {
      if (this.#output.drained && !this.#stuck) this.#finish(ending);
    };
    this.#output.onProgress = look;
    this.#around.readable(this);
    look();
  }

  /** Its output, if all of it can come with the result. */
  #inline(verdict: Verdict): { readonly stdout: string | null; readonly stderr: string | null } | null {
    if (this.#live) return null;
    const stdout = this.#text('stdout', verdict.stdout);
    const stderr = this.#text('stderr', verdict.stderr);
    if (stdout === undefined || stderr === undefined) return null;
    // The last word on one that was cancelled has no room for output.
    return this.#cancelled(verdict) && (stdout !== null || stderr !== null) ? null : { stdout, stderr };
  }

  /** Undefined: it is too long, or is no text. */
  #text(stream: Stream, given: string | null): string | null | undefined {
    if (this.#written === null) return given;
    const bytes = this.#written.whole(stream, this.#order.inlineBytes);
    if (bytes === null) return undefined;
    // Nothing written is something else than an empty text that was given.
    if (bytes.length === 0) return given;
    // Databases take no NUL in a text.
    if (!isUtf8(bytes) || bytes.includes(0)) return undefined;
    const text = bytes.toString('utf8');
    return Buffer.byteLength(JSON.stringify(text)) - 2 > this.#order.inlineBytes ? undefined : text;
  }

  #cancelled({ killed }: Verdict): boolean {
    return killed !== null && this.#killing === 'cancel';
  }

  #endingOf(
    verdict: Verdict,
    texts: { readonly stdout: string | null; readonly stderr: string | null } | null,
  ): Ending {
    const durationMs = Math.round(this.#around.clock.monotonic() - this.#beganAt);
    const bytes = texts === null ? this.#output.bytes : null;
    const { killed, retry, status, exitCode, signal } = verdict;
    if (killed !== null && this.#cancelled(verdict)) {
      return { event: 'cancelled', forced: killed.forced, bytes, durationMs };
    }
    const limit = killed !== null && this.#killing === 'limit';
    const said = limit ? limitReason(this.#order.timeoutMs ?? 0) : verdict.reason;
    // What a plugin throws may be of any length.
    const reason = said === null ? null : masked(said, this.#secrets).slice(0, LIMITS.reasonBytes);
    const { stdout = null, stderr = null } = texts ?? {};
    const result = { status, retry: retry && !limit, reason, exitCode, signal, stdout, stderr, bytes, durationMs };
    return { event: 'finished', result };
  }

  #finish(end: End): void {
    this.#end = end;
    if (this.#written !== null) this.#written.onProgress = () => undefined;
    this.#around.tell({ t: 'news', news: endNews(this.ref, end) });
    this.#around.changed();
  }

  /** The next piece of output to send; null: none now. */
  take(chunk: number): OutputPiece | null {
    return this.#live ? this.#output.take(chunk) : null;
  }

  /** The server has stored all below `offset`. */
  stored(stream: Stream, offset: number): void {
    this.#output.stored(stream, offset);
    this.#around.readable(this);
  }

  /** What is not known to be stored is to be sent again. */
  rewind(): void {
    if (this.#written === null) return;
    this.#written.rewind();
    this.#around.readable(this);
  }
}
