import type { Clock } from '@muster/base';
import type { RandomBytes } from '@muster/platform/auth';

const COUNTER = 0x1000000;

/**
 * Ids of queues and tasks: 24 hex digits in the shape that clients of the command interface know, four bytes of seconds,
 * five that are random for this process, three that count up. Those of one process always grow, also when the clock is
 * set back; so their order is the order in which things were added.
 */
export class Ids {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #process: string;
  #seconds: number;
  #counter = 0;
  #prefix = '';

  /** @param after The greatest id that there is. */
  constructor(clock: Pick<Clock, 'now'>, random: RandomBytes, after: string | null) {
    this.#clock = clock;
    this.#process = Buffer.from(random(5)).toString('hex');
    this.#seconds = after === null ? 0 : Number.parseInt(after.slice(0, 8), 16) + 1;
    this.#renew();
  }

  next(): string {
    if (this.#counter === COUNTER || Math.floor(this.#clock.now() / 1000) > this.#seconds) this.#renew();
    this.#counter += 1;
    return this.#prefix + (this.#counter - 1).toString(16).padStart(6, '0');
  }

  #renew(): void {
    this.#seconds = Math.max(Math.floor(this.#clock.now() / 1000), this.#seconds + (this.#counter === COUNTER ? 1 : 0));
    this.#counter = 0;
    this.#prefix = this.#seconds.toString(16).padStart(8, '0') + this.#process;
  }
}

const ID = /^[0-9a-f]{24}$/;

export function isId(text: string): boolean {
  return ID.test(text);
}
