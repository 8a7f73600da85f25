import type { Clock, Timer } from '@muster/wire/clock';

interface Waiting<Answer> {
  readonly sinceMs: number;
  readonly answer: Answer;
}

/**
 * Receipts that are awaited from a peer, in the order in which they were asked for. A peer that takes bytes and answers
 * nothing is noticed by the oldest of them.
 */
export class Awaited<Answer> {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #late: () => void;
  readonly #waiting = new Map<string, Waiting<Answer>>();
  #asked = 0;
  #timer: Timer | null = null;

  /** @param late Called when the oldest has waited for `limitMs`. */
  constructor(clock: Clock, limitMs: number, late: () => void) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#late = late;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** The id to ask for the next receipt with. */
  get next(): string {
    return String(this.#asked + 1);
  }

  /** The receipt with the id `next` is asked for; answers that id. */
  expect(answer: Answer): string {
    const id = this.next;
    this.#asked += 1;
    this.#waiting.set(id, { sinceMs: this.#clock.monotonic(), answer });
    if (this.#timer === null) this.#arm(this.#limitMs);
    return id;
  }

  /** It has come. Undefined: nobody waits for it. */
  take(id: string): Answer | undefined {
    const answer = this.#waiting.get(id)?.answer;
    this.#waiting.delete(id);
    return answer;
  }

  /** None of them will come. */
  end(): readonly Answer[] {
    this.#timer?.cancel();
    this.#timer = null;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    return waiting.map(({ answer }) => answer);
  }

  #arm(delayMs: number): void {
    this.#timer = this.#clock.after(delayMs, () => {
      this.#timer = null;
      const [oldest] = this.#waiting.values();
      if (oldest === undefined) return;
      const remainingMs = oldest.sinceMs + this.#limitMs - this.#clock.monotonic();
      if (remainingMs > 0) this.#arm(remainingMs);
      else this.#late();
    });
  }
}
