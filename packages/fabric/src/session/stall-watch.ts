import type { Clock, Timer } from '@muster/base';

/**
 * Looks at the clock this often within the limit: a stall is noticed if it is longer than the limit, and perhaps if it
 * is a quarter shorter.
 */
const LOOKS = 4;

/**
 * Notices that this process was not running: stopped, swapped out, or busy. Whatever a relay sent before that, it has
 * given up by now, and its clients were told so; delivering it would be wrong. So what was received must not be
 * read before somebody has looked at the clock, whether that is the timer or whoever received it.
 */
export class StallWatch {
  readonly #clock: Clock;
  #limitMs: number;
  readonly #stalled: (stalledMs: number) => void;
  #seenMs: number;
  #timer: Timer;

  /** @param limitMs For how long this process may stand still. */
  constructor(clock: Clock, limitMs: number, stalled: (stalledMs: number) => void) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#stalled = stalled;
    this.#seenMs = clock.monotonic();
    this.#timer = this.#arm();
  }

  /** Called before received bytes are parsed. False: this process has just stood still for too long. */
  look(): boolean {
    const nowMs = this.#clock.monotonic();
    const stalledMs = nowMs - this.#seenMs;
    this.#seenMs = nowMs;
    if (stalledMs <= this.#limitMs) return true;
    this.#stalled(stalledMs);
    return false;
  }

  /** A relay has logged in that waits for receipts no longer than that: the limit is lowered to it. */
  within(limitMs: number): void {
    if (limitMs >= this.#limitMs) return;
    this.look();
    this.#limitMs = limitMs;
    this.#timer.cancel();
    this.#timer = this.#arm();
  }

  stop(): void {
    this.#timer.cancel();
  }

  #arm(): Timer {
    return this.#clock.after(this.#limitMs / LOOKS, () => {
      this.look();
      this.#timer = this.#arm();
    });
  }
}
