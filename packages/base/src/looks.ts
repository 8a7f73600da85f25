import type { Clock } from './clock.js';
import { Waker } from './waker.js';

export interface LooksDeps {
  readonly clock: Clock;
  /** Until it is looked again after it failed. */
  readonly againMs: number;
  readonly look: () => Promise<void>;
  /** A look failed, and not because of `stop`. */
  readonly failed: (error: unknown) => void;
}

/** Looks at something one time after the other: when asked, at set times, and again when it was asked for meanwhile. */
export class Looks {
  readonly #deps: LooksDeps;
  readonly #waker: Waker;
  #looking: Promise<void> | null = null;
  #again = false;
  #stopped = false;

  constructor(deps: LooksDeps) {
    this.#deps = deps;
    this.#waker = new Waker(deps.clock, () => this.ask());
  }

  ask(): void {
    this.#again = true;
    if (this.#looking !== null || this.#stopped) return;
    this.#looking = this.#lookWhileAsked().finally(() => {
      this.#looking = null;
      // Asked for at the last moment.
      if (this.#again) this.ask();
    });
  }

  /** @param at Milliseconds since the epoch. */
  askBy(at: number): void {
    if (!this.#stopped) this.#waker.by(at);
  }

  /** What was asked for waits, as after a look that failed. */
  later(): void {
    this.#again = false;
    const { clock, againMs } = this.#deps;
    this.askBy(clock.now() + againMs);
  }

  /** Waits for the look that is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waker.stop();
    await this.#looking;
  }

  async #lookWhileAsked(): Promise<void> {
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false;
        await this.#deps.look();
      }
    } catch (error) {
      if (this.#stopped) return;
      this.#deps.failed(error);
      this.later();
    }
  }
}
