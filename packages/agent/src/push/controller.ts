import type { Clock, Timer } from '@muster/base';
import type { AgentMessage, ServerMessage } from '@muster/wire';
import type { Ended, Execution } from '../execution/execution.js';
import type { RunNote } from '../execution/run-note.js';
import type { AgentLog } from '../logging.js';
import {
  type Effect,
  type Event,
  initialMachine,
  type Machine,
  type PreparedJob,
  step,
  type TimerName,
} from './machine.js';

export interface ControllerSurroundings {
  readonly clock: Clock;
  readonly logger: AgentLog;
  readonly send: (message: AgentMessage) => void;
  /** Why the offered job is refused, or null: it is taken, and its files are here. Rejects when the signal is aborted. */
  readonly check: (job: PreparedJob, signal: AbortSignal) => Promise<string | null>;
  /** The job is over here, or never began: what came with it may go. */
  readonly release: (jobId: string) => Promise<void>;
  /** Makes the execution of a job; it is started by the controller. */
  readonly execution: (job: PreparedJob, ended: Ended) => Execution;
  readonly note: RunNote;
}

type JobMessage = Extract<ServerMessage, { type: 'prepare' | 'start' | 'abort' }>;

/** The mailbox around the command machine: one event at a time, its effects in order, each done before the next. */
export class CommandController {
  readonly #around: ControllerSurroundings;
  #machine: Machine = initialMachine;
  #reported: Machine = initialMachine;
  #executing: { readonly jobId: string; readonly execution: Execution } | null = null;
  #timers: Partial<Record<TimerName, Timer>> = {};
  #effects: Promise<void> = Promise.resolve();
  #handedOver = false;
  /** Prepare is checked on disk first; messages behind it wait, so that their order is kept. */
  #messages: Promise<void> = Promise.resolve();
  #idle: (() => void)[] = [];
  /** What is looked at now, which may take long when files come with it. */
  #checking: { readonly jobId: string; readonly stop: AbortController } | null = null;

  constructor(around: ControllerSurroundings) {
    this.#around = around;
  }

  get machine(): Machine {
    return this.#machine;
  }

  /** The machine as far as its messages have been handed to `send`: a heartbeat must not tell more than they did. */
  get reported(): Machine {
    return this.#reported;
  }

  /** What is running now, for its output. */
  get executing(): { readonly jobId: string; readonly execution: Execution } | null {
    return this.#executing;
  }

  /** A message of the server about jobs. */
  receive(message: JobMessage): void {
    // Repeated while its files are on their way: the answer comes when they are here.
    if (message.type === 'prepare' && message.jobId === this.#checking?.jobId) return;
    if (message.type === 'abort') this.stopChecking();
    this.#messages = this.#messages.then(async () => {
      const event = await this.#event(message);
      if (event !== null) this.apply(event);
    });
  }

  /** What is being made ready is not wanted any more, and is not answered. */
  stopChecking(): void {
    this.#checking?.stop.abort();
  }

  /** Null: it is not wanted any more. */
  async #event(message: JobMessage): Promise<Event | null> {
    if (message.type !== 'prepare') return message;
    const { jobId, command, capture, options, timeoutSeconds, waitSeconds } = message;
    const job = { jobId, command, capture, options, timeoutMs: milliseconds(timeoutSeconds) };
    const busy = this.#machine.phase.kind !== 'ready';
    // Only an idle agent can accept; a busy one answers without looking (its own lock would refuse a repetition).
    const waitMs = milliseconds(waitSeconds);
    if (busy) return { type: 'prepare', job, waitMs, refusal: null };
    const stop = new AbortController();
    this.#checking = { jobId, stop };
    try {
      const refusal = await this.#around.check(job, stop.signal);
      if (!stop.signal.aborted) return { type: 'prepare', job, waitMs, refusal };
      await this.#around.release(jobId);
      return null;
    } catch (error) {
      if (stop.signal.aborted) return null;
      throw error;
    } finally {
      this.#checking = null;
    }
  }

  apply(event: Event): void {
    if (this.#handedOver) return;
    const before = this.#machine;
    const { machine, effects } = step(before, event);
    this.#machine = machine;
    const over = machine.phase.kind === 'ready' ? jobOf(before, event) : null;
    this.#effects = this.#effects.then(async () => {
      // Before the end is told: whoever hears of it finds nothing left.
      if (over !== null) await this.#around.release(over);
      await this.#carryOut(effects, machine);
    });
  }

  async #carryOut(effects: readonly Effect[], machine: Machine): Promise<void> {
    const lastWord = effects.findLastIndex(({ type }) => type === 'send');
    for (const [index, effect] of effects.entries()) {
      // In one breath with the sending: neither before nor after it may a heartbeat say something else.
      if (index === lastWord) this.#reported = machine;
      try {
        await this.#do(effect);
      } catch (error) {
        this.#around.logger.error({ err: error, effect: effect.type }, 'an effect failed');
      }
    }
    this.#reported = machine;
  }

  async #do(effect: Effect): Promise<void> {
    switch (effect.type) {
      case 'send':
        return this.#around.send(effect.message);
      case 'remember':
        return this.#remember(effect.job);
      case 'forget':
        this.#executing = null;
        await this.#around.note.clear();
        for (const idle of this.#idle.splice(0)) idle();
        return;
      case 'run':
        if (this.#executing === null) return this.#neverRan(effect.job.jobId);
        return this.#executing.execution.start();
      case 'kill':
        if (this.#executing === null) return this.#neverRan(effect.jobId);
        return this.#executing.execution.kill();
      case 'arm': {
        this.#timers[effect.timer]?.cancel();
        const { timer, jobId } = effect;
        this.#timers[timer] = this.#around.clock.after(effect.afterMs, () => this.#due(timer, jobId));
        return;
      }
      case 'cancel':
        this.#timers[effect.timer]?.cancel();
        delete this.#timers[effect.timer];
        return;
    }
  }

  /** No execution is made, and nothing runs, unless the note is written. */
  async #remember(job: PreparedJob): Promise<void> {
    const { jobId } = job;
    const execution = this.#around.execution(job, (outcome, bytes) =>
      this.apply({ type: 'exited', result: { jobId, ...outcome }, bytes }),
    );
    await this.#around.note.write({ subject: jobId, run: execution.run, group: execution.group?.path ?? null });
    this.#executing = { jobId, execution };
  }

  #neverRan(jobId: string): void {
    const result = { jobId, outcome: 'failed', exitCode: null, signal: null } as const;
    this.apply({
      type: 'exited',
      result: { ...result, reason: 'the agent cannot write its data directory' },
      bytes: null,
    });
  }

  #due(timer: TimerName, jobId: string): void {
    if (timer === 'wait') return this.apply({ type: 'wait_over', jobId });
    this.#executing?.execution.expire((bytes) => this.apply({ type: 'limit_reached', jobId, bytes }));
  }

  /**
   * Ends a running command; one that ended by itself, and whose output is still on the way, has `outputMs` for that, and
   * is told as it ended. Resolves when it is gone and everything about it was handed to `send`; false when the kernel did
   * not let go of it within `limitMs`.
   */
  async stop(limitMs: number, outputMs: number): Promise<boolean> {
    const execution = this.#executing?.execution;
    this.stopChecking();
    if (execution?.exited) this.#around.clock.after(outputMs, () => execution.abandonOutput());
    else this.apply({ type: 'stop' });
    await this.#effects;
    const gone = this.#executing === null || (await this.#forgotten(limitMs));
    await this.#effects;
    for (const timer of Object.values(this.#timers)) timer.cancel();
    return gone;
  }

  /** The next agent goes on with what runs here: from now on nothing of it happens any more. */
  async handOver(): Promise<void> {
    this.#handedOver = true;
    this.stopChecking();
    await this.#effects;
    for (const timer of Object.values(this.#timers)) timer.cancel();
    await this.#around.note.clear();
  }

  #forgotten(limitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const limit = this.#around.clock.after(limitMs, () => resolve(false));
      this.#idle.push(() => {
        limit.cancel();
        resolve(true);
      });
    });
  }
}

/** What the machine had, or was offered and refused. */
function jobOf({ phase }: Machine, event: Event): string | null {
  if (event.type === 'prepare') return event.job.jobId;
  return 'job' in phase ? phase.job.jobId : null;
}

function milliseconds(seconds: number | undefined): number | null {
  return seconds === undefined ? null : seconds * 1000;
}
