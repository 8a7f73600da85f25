import type { Clock } from './clock.js';

/**
 * Since the first work of a turn began, until what is left waits for the next one. With half of it a push job on ten thousand
 * nodes takes a quarter longer: more turns, and in each all sockets are looked at.
 */
export const TURN_MS = 20;
/** Of that, each share has so much for itself, whatever the others have taken. */
const OWN = 1 / 4;

/** One turn of the event loop after the other, by a clock. Every `TurnShare` is a share of the same. */
export class LoopTurn {
  static readonly #all = new WeakMap<Clock, LoopTurn>();
  readonly #now: () => number;
  readonly #defer: (work: () => void) => void;
  #number = 0;
  #working = false;
  /** When the first work of the latest turn began. */
  #beganMs = 0;

  /** @param defer runs work after this turn: `setImmediate`. */
  constructor(now: () => number, defer: (work: () => void) => void = setImmediate) {
    this.#now = now;
    this.#defer = defer;
  }

  /** The one of all who go by that clock. */
  static of(clock: Clock): LoopTurn {
    const known = LoopTurn.#all.get(clock) ?? new LoopTurn(() => clock.monotonic());
    LoopTurn.#all.set(clock, known);
    return known;
  }

  /** Work is to be done in this turn. */
  enter(): { readonly number: number; readonly nowMs: number; readonly beganMs: number } {
    const nowMs = this.#now();
    if (!this.#working) {
      this.#working = true;
      this.#number += 1;
      this.#beganMs = nowMs;
      this.#defer(() => {
        this.#working = false;
      });
    }
    return { number: this.#number, nowMs, beganMs: this.#beganMs };
  }

  /** Runs work in the next turn. */
  later(work: () => void): void {
    this.#defer(work);
  }
}

/**
 * A share of each turn of the event loop, for work that comes in any amount. Whoever does it asks before each piece whether the share is used up,
 * and then leaves the rest to the next turn: timers, and everybody else, wait no longer than that. A turn is the same for all kinds of such work:
 * were each to take what it may alone, their sum would keep the others waiting.
 */
export class TurnShare {
  readonly #turn: LoopTurn;
  readonly #mostMs: number;
  /** The turn in which work was done last, and when that began. */
  #entered = 0;
  #beganMs = 0;

  constructor(turn: LoopTurn, mostMs = TURN_MS) {
    this.#turn = turn;
    this.#mostMs = mostMs;
  }

  /** Whether what is left must wait for the next turn. The first piece of a turn never does. */
  get used(): boolean {
    const { number, nowMs, beganMs } = this.#turn.enter();
    if (this.#entered !== number) {
      this.#entered = number;
      this.#beganMs = nowMs;
      return false;
    }
    return nowMs - beganMs >= this.#mostMs && nowMs - this.#beganMs >= this.#mostMs * OWN;
  }

  /** Runs work in the next turn. */
  later(work: () => void): void {
    this.#turn.later(work);
  }

  /** Resolves when there is something left of a share: at once, or in a later turn. */
  async free(): Promise<void> {
    while (this.used) await new Promise<void>((resolve) => this.later(resolve));
  }
}
