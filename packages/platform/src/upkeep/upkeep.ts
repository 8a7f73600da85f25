import type { Clock, Timer } from '@muster/base';

export interface UpkeepDeps {
  readonly clock: Clock;
  /** From the end of one round to the next. */
  readonly pauseMs: number;
  readonly round: () => Promise<void>;
  /** A round failed; the next one tries again. */
  readonly failed: (error: unknown) => void;
}

/** What a server does again and again to keep its house in order, one round at a time. */
export class Upkeep {
  readonly #deps: UpkeepDeps;
  #timer: Timer | null = null;
  #round: Promise<void> | null = null;
  #stopped = false;

  constructor(deps: UpkeepDeps) {
    this.#deps = deps;
  }

  /** A long round looks at it between its steps. */
  get stopped(): boolean {
    return this.#stopped;
  }

  start(): void {
    const { clock, pauseMs } = this.#deps;
    this.#timer = clock.after(pauseMs, () => this.#run());
  }

  /** The next round need not wait for its time. Nothing when one is running, or before the start. */
  hurry(): void {
    if (this.#timer === null || this.#stopped) return;
    this.#timer.cancel();
    this.#run();
  }

  #run(): void {
    const { round, failed } = this.#deps;
    this.#timer = null;
    this.#round = round()
      .catch(failed)
      .then(() => {
        if (!this.#stopped) this.start();
      });
  }

  /** No round begins any more; resolves when the one that runs has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#round;
  }
}
