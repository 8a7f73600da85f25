import type { Clock, Timer } from '@muster/base';
import { INVENTORY_ANSWER_MS } from '../limits.js';

/**
 * Whether tasks may begin. What waits while the server is away may have been given to another node meanwhile: it begins
 * only after the server was back, was told what is here, and had time to say what of that it does not want any more.
 */
export class Permission {
  readonly #clock: Clock;
  readonly #onGiven: () => void;
  #state: 'given' | 'withdrawn' | 'asked' | 'told' = 'given';
  #answer: Timer | null = null;

  constructor(clock: Clock, onGiven: () => void) {
    this.#clock = clock;
    this.#onGiven = onGiven;
  }

  get given(): boolean {
    return this.#state === 'given';
  }

  /** The server is away, or the agent ends. */
  withdraw(): void {
    this.#enter('withdrawn');
  }

  /** The server is back. */
  ask(): void {
    if (this.#state === 'withdrawn') this.#enter('asked');
  }

  /** The server is to be told once more what is here: the last time may have been lost. */
  askAgain(): void {
    if (this.#state === 'told') this.#enter('asked');
  }

  /** The inventory has left. A server that objects to nothing in it does not answer. */
  told(): void {
    if (this.#state !== 'asked') return;
    this.#enter('told');
    this.#answer = this.#clock.after(INVENTORY_ANSWER_MS, () => this.answered());
  }

  /** The server has given orders, which were followed. */
  answered(): void {
    if (this.#state !== 'told') return;
    this.#enter('given');
    this.#onGiven();
  }

  #enter(state: 'given' | 'withdrawn' | 'asked' | 'told'): void {
    this.#answer?.cancel();
    this.#answer = null;
    this.#state = state;
  }
}
