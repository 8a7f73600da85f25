/** How much may be spent: `perSecond` on average, `burst` at once. */
export interface Allowance {
  readonly perSecond: number;
  readonly burst: number;
}

/** A token bucket. Time comes in; a clock that is set back gives nothing and takes nothing. */
export class Budget {
  readonly #allowance: Allowance;
  #left: number;
  #at: number;

  constructor(allowance: Allowance, now: number) {
    this.#allowance = allowance;
    this.#left = allowance.burst;
    this.#at = now;
  }

  /** False when there is not enough left; then nothing is spent. */
  spend(amount: number, now: number): boolean {
    const { perSecond, burst } = this.#allowance;
    const gained = (Math.max(0, now - this.#at) / 1000) * perSecond;
    this.#left = Math.min(burst, this.#left + gained);
    this.#at = now;
    if (this.#left < amount) return false;
    this.#left -= amount;
    return true;
  }

  /** It was spent for nothing. */
  giveBack(amount: number): void {
    this.#left = Math.min(this.#allowance.burst, this.#left + amount);
  }

  /** How long after it was last asked so much can be spent, when nobody else spends. */
  msUntil(amount: number): number {
    return Math.max(0, ((amount - this.#left) / this.#allowance.perSecond) * 1000);
  }
}
