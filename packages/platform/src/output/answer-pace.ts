import type { Clock, Timer } from '@muster/base';
import { OUTPUT_LIMITS } from './limits.js';

const { answerRoundMs: ROUND_MS, answersARound: A_ROUND, answerWaitsMs: WAITS_MS } = OUTPUT_LIMITS;

/**
 * So many answers to small pieces of output a second. Who sends output waits for an answer before the next small piece, and what is written meanwhile
 * goes with it: a held answer makes pieces larger, not output slower. Without it a thousand streams are cut into ever more pieces,
 * until the server has time for nothing else.
 */
export class AnswerPace<Stream> {
  readonly #clock: Clock;
  /** In the order in which they came; none twice of one stream, as the later says more. */
  readonly #held = new Map<Stream, () => void>();
  #round: Timer | null = null;
  /** Answers that left in this round. */
  #left = 0;
  /** Held ones that leave in each round: enough that none waits for too long. */
  #aRound: number = A_ROUND;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Now, and what is held of the stream is said with it. */
  now(stream: Stream, answer: () => void): void {
    this.#held.delete(stream);
    answer();
  }

  /** Now, or as soon as its turn comes. */
  inTurn(stream: Stream, answer: () => void): void {
    if (this.#left < A_ROUND && !this.#held.has(stream)) return this.#leave(answer);
    this.#held.set(stream, answer);
    this.#aRound = Math.max(this.#aRound, Math.ceil((this.#held.size * ROUND_MS) / WAITS_MS));
  }

  /** All that is held leaves. */
  end(): void {
    this.#round?.cancel();
    this.#round = null;
    this.#left = 0;
    for (const [stream, answer] of this.#held) this.now(stream, answer);
  }

  #leave(answer: () => void): void {
    this.#left += 1;
    this.#round ??= this.#clock.after(ROUND_MS, () => this.#next());
    answer();
  }

  #next(): void {
    this.#round = null;
    this.#left = 0;
    for (const [stream, answer] of this.#held) {
      if (this.#left === this.#aRound) return;
      this.#held.delete(stream);
      this.#leave(answer);
    }
    this.#aRound = A_ROUND;
  }
}
