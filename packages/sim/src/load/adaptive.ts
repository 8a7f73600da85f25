/** The server had no time for an attempt, or its answer did not come: made again later it may succeed. */
export class Busy extends Error {
  override readonly name = 'Busy';
}

/** Attempts of one piece of work before it is given up, and with it everything. */
const ATTEMPTS = 12;
const PAUSE_FIRST_MS = 250;
const PAUSE_LONGEST_MS = 15_000;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Does `work` for every item, at most `most` at a time, and fewer on a machine that is too slow for that: whenever the
 * server is busy the number is halved, and the attempt is made again after a pause; as many successes as are allowed at
 * a time allow one more. Stops at the first failure of another kind.
 *
 * @param work is told which attempt it is, from 1 on.
 * @throws the last `Busy` of an item that was tried too often, with that said.
 */
export async function adaptively<T>(
  items: readonly T[],
  most: number,
  work: (item: T, attempt: number) => Promise<void>,
  pause: (ms: number) => Promise<void> = sleep,
): Promise<void> {
  const rest = items.values();
  const limit = new Limit(most);
  const lane = async (): Promise<void> => {
    for (const item of rest) await tried(item);
  };
  const tried = async (item: T): Promise<void> => {
    for (let attempt = 1; ; attempt++) {
      await limit.enter();
      try {
        await work(item, attempt);
        limit.leave(true);
        return;
      } catch (error) {
        limit.leave(!(error instanceof Busy));
        if (!(error instanceof Busy)) throw error;
        if (attempt >= ATTEMPTS) {
          throw new Busy(`${error.message}; tried ${ATTEMPTS} times, at last ${limit.allowed} at a time`);
        }
      }
      const longest = Math.min(PAUSE_FIRST_MS * 2 ** attempt, PAUSE_LONGEST_MS);
      await pause(longest * (0.5 + Math.random() / 2));
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, lane));
}

/** How many may be under way, which changes. */
class Limit {
  allowed: number;
  readonly #most: number;
  #under = 0;
  #successes = 0;
  #waiting: (() => void)[] = [];

  constructor(most: number) {
    this.allowed = most;
    this.#most = most;
  }

  async enter(): Promise<void> {
    while (this.#under >= this.allowed) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#under += 1;
  }

  leave(well: boolean): void {
    this.#under -= 1;
    if (!well) {
      this.allowed = Math.max(1, Math.floor(this.allowed / 2));
      this.#successes = 0;
    } else {
      this.#successes += 1;
      if (this.#successes >= this.allowed && this.allowed < this.#most) {
        this.allowed += 1;
        this.#successes = 0;
      }
    }
    // Whoever may not go on yet waits again.
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
