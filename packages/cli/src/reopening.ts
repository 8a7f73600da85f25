import { MusterError } from './errors.js';
import { RECONNECT_MAX_MS, RECONNECT_MIN_MS, RECONNECT_PATIENCE_MS } from './limits.js';

export interface ReopeningOptions {
  /** Told when the server cannot be reached, and with null when it can again. */
  readonly onTrouble: (reason: string | null) => void;
  readonly pause: (ms: number) => Promise<void>;
  readonly now: () => number;
}

/** When, and for how long, a stream of the server that broke off is opened again. */
export class Reopening {
  readonly #options: ReopeningOptions;
  #wait = RECONNECT_MIN_MS;
  #reachedAt: number;

  constructor(options: ReopeningOptions) {
    this.#options = options;
    this.#reachedAt = options.now();
  }

  opened(): void {
    this.#options.onTrouble(null);
  }

  /** The server answered. */
  reached(): void {
    this.#reachedAt = this.#options.now();
  }

  /** Something new came out of the stream. */
  received(): void {
    this.reached();
    this.#wait = RECONNECT_MIN_MS;
  }

  /** @throws the error itself, when it does not pass or has lasted for RECONNECT_PATIENCE_MS. */
  broke(error: unknown): void {
    if (!isTransient(error) || this.#options.now() - this.#reachedAt > RECONNECT_PATIENCE_MS) throw error;
    this.#options.onTrouble(error.message);
  }

  /** Before it is opened again. */
  async pause(): Promise<void> {
    await this.#options.pause(this.#wait);
    this.#wait = Math.min(this.#wait * 2, RECONNECT_MAX_MS);
  }
}

/** A broken connection or a busy server passes; a refusal does not. */
function isTransient(error: unknown): error is MusterError {
  return error instanceof MusterError && error.exit === 5;
}
