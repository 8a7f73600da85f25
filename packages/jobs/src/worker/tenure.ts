import type { Clock, Timer } from '@muster/base';
import type { LayerLog } from '@muster/platform/upkeep';
import { type Lease, Leases, type Store } from '@muster/store';
import { TenureLost } from './interrupted.js';
import { LIMITS } from './limits.js';

export const leaseName = (worker: string): string => `job-worker/${worker}`;

/** Who holds the lease of a worker: the worker, and the process at which the broker reaches it. */
export const holderName = (worker: string, process: string): string => `${worker}@${process}`;
export const processOf = (holder: string): string => holder.slice(holder.indexOf('@') + 1);

export interface TenureDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: LayerLog;
  /** As the broker knows this process. */
  readonly process: string;
  /** Nothing may be done from now on until `held` resolves. */
  readonly unsure: () => void;
  /** For good. */
  readonly lost: () => void;
}

/**
 * The time in which a worker may act for its jobs: as long as its lease is renewed in time.
 *
 * | state | what is true | what ends it |
 * |---|---|---|
 * | `held` | nobody else acts for its jobs | not renewed in time: `unsure`; another has it: `lost` |
 * | `unsure` | somebody may have taken them | renewed all the same: `held`; another has it: `lost` |
 * | `lost` | its jobs are others' | nothing |
 */
export class Tenure {
  readonly worker: string;
  readonly #deps: TenureDeps;
  readonly #leases: Leases;
  #lease: Lease;
  #state: 'held' | 'unsure' | 'lost' = 'held';
  #waiting: { resolve(): void; reject(error: Error): void }[] = [];
  #renewal: Timer;
  #end: Timer;

  private constructor(worker: string, deps: TenureDeps, leases: Leases, lease: Lease) {
    this.worker = worker;
    this.#deps = deps;
    this.#leases = leases;
    this.#lease = lease;
    this.#renewal = this.#renewIn(LIMITS.renewMs);
    this.#end = this.#watchEnd();
  }

  /** @throws MusterError `store_unavailable` */
  static async begin(worker: string, deps: TenureDeps): Promise<Tenure> {
    const { store, clock, process } = deps;
    const leases = new Leases({ store, clock, holder: holderName(worker, process) });
    const acquired = await leases.acquire(leaseName(worker), LIMITS.leaseMs);
    if (acquired.kind === 'held')
      throw new Error(`the lease of the new worker ${worker} is held by ${acquired.holder}`);
    return new Tenure(worker, deps, leases, acquired.lease);
  }

  /** Whether it may act at this moment. */
  get holds(): boolean {
    return this.#state === 'held' && this.#deps.clock.monotonic() < this.#lease.actUntil;
  }

  /** Resolves once it may act. @throws TenureLost when it never will; the reason of the signal when that is aborted first */
  async held(signal: AbortSignal): Promise<void> {
    if (this.holds) return;
    if (this.#state === 'lost') throw new TenureLost();
    signal.throwIfAborted();
    let aborted: () => void = () => undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        aborted = () => reject(signal.reason);
        signal.addEventListener('abort', aborted, { once: true });
        this.#waiting.push({ resolve, reject });
      });
    } finally {
      signal.removeEventListener('abort', aborted);
    }
  }

  /** Gives it back, so that nobody waits for its end. */
  async end(): Promise<void> {
    const lease = this.#lease;
    if (this.#state === 'lost') return;
    this.#lose();
    try {
      await this.#leases.release(lease);
    } catch (err) {
      this.#deps.log.warn({ err }, 'the lease of the worker could not be given back: it ends by itself');
    }
  }

  #renewIn(ms: number): Timer {
    return this.#deps.clock.after(ms, () => void this.#renew());
  }

  #watchEnd(): Timer {
    const left = this.#lease.actUntil - this.#deps.clock.monotonic();
    return this.#deps.clock.after(left, () => this.#doubt());
  }

  async #renew(): Promise<void> {
    let renewed: Lease | null;
    try {
      renewed = await this.#leases.renew(this.#lease, LIMITS.leaseMs);
    } catch (err) {
      if (this.#state === 'lost') return;
      this.#deps.log.warn({ err }, 'the lease of the worker could not be renewed');
      this.#renewal = this.#renewIn(LIMITS.renewAgainMs);
      return;
    }
    // Given back meanwhile.
    if (this.#state === 'lost') return;
    if (renewed === null) {
      this.#deps.log.error(
        { worker: this.worker },
        'the lease of the worker is lost: its jobs are taken over by others',
      );
      this.#lose();
      this.#deps.lost();
      return;
    }
    this.#lease = renewed;
    this.#end.cancel();
    this.#end = this.#watchEnd();
    this.#renewal = this.#renewIn(LIMITS.renewMs);
    if (!(this.#deps.clock.monotonic() < renewed.actUntil)) return this.#doubt();
    this.#state = 'held';
    for (const { resolve } of this.#waiting.splice(0)) resolve();
  }

  #doubt(): void {
    if (this.#state !== 'held') return;
    this.#state = 'unsure';
    this.#deps.unsure();
  }

  #lose(): void {
    this.#state = 'lost';
    this.#renewal.cancel();
    this.#end.cancel();
    for (const { reject } of this.#waiting.splice(0)) reject(new TenureLost());
  }
}
