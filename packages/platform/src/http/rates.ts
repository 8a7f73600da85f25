import type { Clock } from '@muster/base';
import type { Counter } from 'prom-client';
import { MusterError } from '../errors.js';
import type { Metrics } from '../metrics/metrics.js';
import { Budget } from '../upkeep/budget.js';
import { HTTP_LIMITS } from './limits.js';

/** Requests a second, on the average of `HTTP_LIMITS.rateSeconds`; 0: any number. */
export interface RequestRates {
  readonly perPrincipal: number;
  readonly perAddress: number;
}

export interface RatesDeps {
  readonly rates: RequestRates;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly metrics: Metrics;
}

type Kind = 'address' | 'principal';

/** How many requests one address, and one principal, may make. A pause makes up for a burst. */
export class RequestLimits {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #perSecond: Readonly<Record<Kind, number>>;
  readonly #budgets: Readonly<Record<Kind, Map<string, Budget>>> = { address: new Map(), principal: new Map() };
  readonly #refused: Counter<'by'>;

  constructor({ rates, clock, metrics }: RatesDeps) {
    this.#clock = clock;
    this.#perSecond = { address: rates.perAddress, principal: rates.perPrincipal };
    this.#refused = metrics.counter(
      'muster_http_requests_limited_total',
      'Requests that were refused as their address, or principal, made too many',
      ['by'],
    );
  }

  /** Before anything of the request is looked at. @throws MusterError `rate_limited` */
  fromAddress(address: string): void {
    this.#spend('address', address, `address ${address}`);
  }

  /** Once it is known who it is. @throws MusterError `rate_limited` */
  byPrincipal(id: string, name: string): void {
    this.#spend('principal', id, `'${name}'`);
  }

  #spend(kind: Kind, key: string, who: string): void {
    const perSecond = this.#perSecond[kind];
    if (perSecond === 0) return;
    const now = this.#clock.monotonic();
    const budgets = this.#budgets[kind];
    const budget =
      budgets.get(key) ?? new Budget({ perSecond, burst: Math.max(1, perSecond * HTTP_LIMITS.rateSeconds) }, now);
    // The one that was asked for longest ago is forgotten first.
    budgets.delete(key);
    budgets.set(key, budget);
    const oldest = budgets.size > HTTP_LIMITS.ratesKept ? budgets.keys().next() : undefined;
    if (oldest?.done === false) budgets.delete(oldest.value);
    if (budget.spend(1, now)) return;
    this.#refused.inc({ by: kind });
    const seconds = Math.max(1, Math.ceil(budget.msUntil(1) / 1000));
    throw new MusterError('rate_limited', { who, limit: perSecond, seconds });
  }
}
