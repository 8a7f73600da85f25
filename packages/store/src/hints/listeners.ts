import type { StoreLog } from '../types.js';
import { MISSED } from './types.js';

export type Hear = (text: string | typeof MISSED) => void;

/** Who listens to what, in one process. */
export class Listeners {
  readonly #log: StoreLog;
  readonly #topics = new Map<string, Set<Hear>>();

  constructor(log: StoreLog) {
    this.#log = log;
  }

  /** @param missed Tells at once that some may have been missed; otherwise that is left to `tellAll`. */
  add(topic: string, hear: Hear, missed: boolean): () => void {
    const listeners = this.#topics.get(topic) ?? new Set();
    this.#topics.set(topic, listeners);
    // Of its own: the same function may listen twice.
    const own: Hear = (text) => hear(text);
    listeners.add(own);
    if (missed) setImmediate(() => listeners.has(own) && this.#call(own, MISSED));
    return () => {
      listeners.delete(own);
      if (listeners.size === 0 && this.#topics.get(topic) === listeners) this.#topics.delete(topic);
    };
  }

  tell(topic: string, text: string | typeof MISSED): void {
    for (const hear of [...(this.#topics.get(topic) ?? [])]) this.#call(hear, text);
  }

  tellAll(text: string | typeof MISSED): void {
    for (const topic of [...this.#topics.keys()]) this.tell(topic, text);
  }

  /** Whoever fails at it keeps nobody else from hearing it. */
  #call(hear: Hear, text: string | typeof MISSED): void {
    try {
      hear(text);
    } catch (error) {
      this.#log.error({ err: error }, 'somebody who was given a hint failed');
    }
  }
}
