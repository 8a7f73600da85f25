import type { Clock } from '@muster/base';
import type { Stream } from '@muster/wire';
import { FORKER_RETRY_FIRST_MS, FORKER_RETRY_LONGEST_MS } from '../limits.js';
import type { ControlGroup } from './cgroup.js';
import { ForkerProcess, forkerProgram } from './forker-process.js';
import { asAccount, type Launch, type RunningCommand } from './runner.js';

/**
 * Keeps one forker at work, from `begin` or the first command on. Where there is none, as where it was not built or
 * after it has ended, it starts nothing, and the caller does it: so no command waits for a forker.
 */
export class Forker {
  #process: ForkerProcess | null = null;
  /** Looked for once. */
  #program: { readonly path: string | null } | null = null;
  /** Forkers that ended soon, one after the other. */
  #failures = 0;
  #startedAt = 0;
  #notBefore = Number.NEGATIVE_INFINITY;

  /** Of the forker that is at work now. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Starts a forker now, so that the first command need not wait until it is ready. Safe to repeat. False: there is none. */
  begin(clock: Clock): boolean {
    return this.#at(clock) !== null;
  }

  /** Null: it does not start this command, of which nothing has run. Throws LaunchError. */
  async launch(
    request: Launch,
    clock: Clock,
    write: (stream: Stream, data: Uint8Array) => void,
    group: ControlGroup | null,
  ): Promise<RunningCommand | null> {
    const { file, args, options } = await asAccount(request);
    const order = { request: { ...request, file, args }, ids: options, group, clock, write };
    return this.#at(clock)?.launch(order) ?? null;
  }

  #at(clock: Clock): ForkerProcess | null {
    if (this.#process !== null) return this.#process;
    const now = clock.monotonic();
    if (process.platform !== 'linux' || now < this.#notBefore) return null;
    this.#program ??= { path: forkerProgram() };
    const { path } = this.#program;
    if (path === null) return null;
    this.#startedAt = now;
    this.#process = new ForkerProcess(path, () => this.#over(clock.monotonic()));
    return this.#process;
  }

  #over(now: number): void {
    this.#process = null;
    if (now - this.#startedAt > FORKER_RETRY_LONGEST_MS) this.#failures = 0;
    const pause = FORKER_RETRY_FIRST_MS * 2 ** Math.min(this.#failures, MOST_DOUBLINGS);
    this.#notBefore = now + Math.min(pause, FORKER_RETRY_LONGEST_MS);
    this.#failures += 1;
  }
}

/** Beyond this the pause is the longest anyway. */
const MOST_DOUBLINGS = 10;
