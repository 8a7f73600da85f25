import type { OutputSource } from './types.js';

/** Who waits for more output of a source. They are told that there is some, or its end, and read it from the store. */
export class OutputFollowers {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Returns how to stop. */
  follow(of: OutputSource, told: () => void): () => void {
    const key = keyOf(of);
    const waiting = this.#waiting.get(key) ?? new Set();
    // The same function may follow twice.
    const follower = (): void => told();
    waiting.add(follower);
    this.#waiting.set(key, waiting);
    return () => {
      waiting.delete(follower);
      if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key);
    };
  }

  tell(of: OutputSource): void {
    if (this.#waiting.size === 0) return;
    for (const told of this.#waiting.get(keyOf(of)) ?? []) told();
  }

  /** Sources that somebody follows. */
  get size(): number {
    return this.#waiting.size;
  }
}

/** No subject has a blank in it. */
function keyOf({ subject, part }: OutputSource): string {
  return `${subject} ${part}`;
}
