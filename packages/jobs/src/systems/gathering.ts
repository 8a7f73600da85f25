import type { Clock, Timer } from '@muster/base';

export interface GatheringOptions<Question, Answer> {
  readonly clock: Clock;
  /** From the start of one turn to that of the next, at least. */
  readonly pauseMs: number;
  /** Questions of one turn. */
  readonly most: number;
  /** In the order of the questions. */
  readonly ask: (questions: readonly Question[]) => Promise<readonly Answer[]>;
}

interface Waiting<Question, Answer> {
  readonly question: Question;
  readonly answer: (answer: Answer) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Asks one question for all who ask at about the same time: the first at once, those who come while it is asked, or soon
 * after, together.
 */
export class Gathering<Question, Answer> {
  readonly #options: GatheringOptions<Question, Answer>;
  #waiting: Waiting<Question, Answer>[] = [];
  #next: Timer | null = null;
  #asking = false;
  #asked = Number.NEGATIVE_INFINITY;

  constructor(options: GatheringOptions<Question, Answer>) {
    this.#options = options;
  }

  ask(question: Question): Promise<Answer> {
    return new Promise((answer, fail) => {
      this.#waiting.push({ question, answer, fail });
      this.#arm();
    });
  }

  #arm(): void {
    if (this.#asking || this.#next !== null || this.#waiting.length === 0) return;
    const { clock, pauseMs } = this.#options;
    this.#next = clock.after(this.#asked + pauseMs - clock.monotonic(), () => void this.#turn());
  }

  async #turn(): Promise<void> {
    const { clock, most, ask } = this.#options;
    this.#next = null;
    this.#asking = true;
    this.#asked = clock.monotonic();
    const turn = this.#waiting.splice(0, most);
    try {
      const answers = await ask(turn.map(({ question }) => question));
      turn.forEach(({ answer, fail }, at) => {
        const found = answers[at];
        if (found === undefined) fail(new Error('a question was left without an answer'));
        else answer(found);
      });
    } catch (error) {
      for (const { fail } of turn) fail(error);
    } finally {
      this.#asking = false;
      this.#arm();
    }
  }
}
