import type { Clock, MusterError } from '@muster/wire';
import { Awaited } from '../session/awaited.js';
import type { RawFrame } from '../stomp/raw-frame.js';

/** What a receipt is awaited for. */
export interface Answer {
  /** Part of delivering a client's message, which is tried once; all else is about subscriptions. */
  readonly message: boolean;
  answered(receipt: RawFrame): void;
  /** Upstream does not obey, and says why. */
  refused(error: MusterError): void;
  /** The connection is over, and nobody knows. */
  failed(error: MusterError): void;
}

/** Receipts awaited from upstream (R-5, O-2). */
export class Unanswered {
  readonly #awaited: Awaited<Answer>;
  #messages = 0;

  /** `late` is called when one has waited for `limitMs`. */
  constructor(clock: Clock, limitMs: number, late: () => void) {
    this.#awaited = new Awaited(clock, limitMs, late);
  }

  /** Whether a client's message is among them. */
  get messages(): boolean {
    return this.#messages > 0;
  }

  /** Answers the id to ask for the receipt with. */
  expect(answer: Answer): string {
    if (answer.message) this.#messages += 1;
    return this.#awaited.expect(answer);
  }

  /** Whether that one was awaited. */
  answer(id: string, receipt: RawFrame): boolean {
    const answer = this.#take(id);
    answer?.answered(receipt);
    return answer !== undefined;
  }

  /** Whether that one was awaited. */
  refuse(id: string, error: MusterError): boolean {
    const answer = this.#take(id);
    answer?.refused(error);
    return answer !== undefined;
  }

  /** The end: none of them will come. */
  fail(error: MusterError): void {
    this.#messages = 0;
    for (const answer of this.#awaited.end()) answer.failed(error);
  }

  #take(id: string): Answer | undefined {
    const answer = this.#awaited.take(id);
    if (answer?.message === true) this.#messages -= 1;
    return answer;
  }
}
