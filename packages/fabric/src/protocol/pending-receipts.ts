import type { Clock, Timer } from '@muster/base/clock';

interface PendingReceipt<Answer> {
  readonly sinceMs: number;
  readonly answer: Answer;
}

/**
 * Receipts that we have asked a peer for and that have not come, oldest first. If the oldest has waited for too long,
 * the peer takes bytes without working on them, and `late` is called.
 */
export class PendingReceipts<Answer> {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #late: () => void;
  readonly #pending = new Map<string, PendingReceipt<Answer>>();
  #asked = 0;
  #timer: Timer | null = null;

  /** @param late Called when the oldest has waited for `limitMs`. */
  constructor(clock: Clock, limitMs: number, late: () => void) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#late = late;
  }

  get size(): number {
    return this.#pending.size;
  }

  /** The id to ask for the next receipt with. */
  get nextId(): string {
    return String(this.#asked + 1);
  }

  /** A receipt with the id `nextId` is asked for. @returns that id. */
  add(answer: Answer): string {
    const id = this.nextId;
    this.#asked += 1;
    this.#pending.set(id, { sinceMs: this.#clock.monotonic(), answer });
    if (this.#timer === null) this.#arm(this.#limitMs);
    return id;
  }

  /** That receipt has come. @returns what was added with it; undefined: it was not asked for. */
  take(id: string): Answer | undefined {
    const answer = this.#pending.get(id)?.answer;
    this.#pending.delete(id);
    return answer;
  }

  /** The connection is over: no receipt will come. @returns what was added with each. */
  close(): readonly Answer[] {
    this.#timer?.cancel();
    this.#timer = null;
    const waiting = [...this.#pending.values()];
    this.#pending.clear();
    return waiting.map(({ answer }) => answer);
  }

  #arm(delayMs: number): void {
    this.#timer = this.#clock.after(delayMs, () => {
      this.#timer = null;
      const [oldest] = this.#pending.values();
      if (oldest === undefined) return;
      const remainingMs = oldest.sinceMs + this.#limitMs - this.#clock.monotonic();
      if (remainingMs > 0) this.#arm(remainingMs);
      else this.#late();
    });
  }
}
