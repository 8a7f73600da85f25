import type { Clock } from '@muster/base';
import { MusterError } from '../../errors.js';
import { type Allowance, Budget } from '../../upkeep/budget.js';
import { ISSUER_LIMITS } from './types.js';

/** How often somebody may try to sign in: by whom they say to be, where they say it, and by address. Of this process. */
export class Attempts {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #names = new Map<string, Budget>();
  readonly #addresses = new Map<string, Budget>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** One more, as somebody. @returns What makes good for it when it was right. @throws MusterError `sign_in_throttled` */
  begin(issuerId: string, user: string, address: string): () => void {
    const key = JSON.stringify([issuerId, user.toLowerCase()]);
    const forNothing = this.from(address);
    this.#spend(this.#names, key, ISSUER_LIMITS.attempts.name, `as '${user}'`);
    return () => {
      this.#names.delete(key);
      forNothing();
    };
  }

  /** One more, as whom the issuer will tell. @returns What makes good for it when it was right. @throws MusterError `sign_in_throttled` */
  from(address: string): () => void {
    this.#spend(this.#addresses, address, ISSUER_LIMITS.attempts.address, `from ${address}`);
    return () => this.#addresses.get(address)?.giveBack(1);
  }

  #spend(budgets: Map<string, Budget>, key: string, allowance: Allowance, who: string): void {
    const now = this.#clock.monotonic();
    const budget = budgets.get(key) ?? new Budget(allowance, now);
    // The one that was asked for longest ago is forgotten first.
    budgets.delete(key);
    budgets.set(key, budget);
    const oldest = budgets.size > ISSUER_LIMITS.attempts.kept ? budgets.keys().next() : undefined;
    if (oldest?.done === false) budgets.delete(oldest.value);
    if (budget.spend(1, now)) return;
    throw new MusterError('sign_in_throttled', { who, seconds: Math.max(1, Math.ceil(budget.msUntil(1) / 1000)) });
  }
}
