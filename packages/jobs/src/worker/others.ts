import type { Clock } from '@muster/base';
import { type Acquisition, GuardFailed, Leases, type Store } from '@muster/store';
import { LIMITS } from './limits.js';
import { leaseName, processOf } from './tenure.js';

/** How another worker stands. */
export type Standing =
  | { readonly ended: true }
  | {
      readonly ended: false;
      /** It was seen to renew its lease, and need not have renewed it again. */
      readonly lives: boolean;
      /** Until its lease ends unless it is renewed. */
      readonly leftMs: number;
      /** Where the broker reaches it. */
      readonly process: string;
    };

/** Workers that have jobs whose messages came here. One that has ended never comes back: each start has a new name. */
export class OtherWorkers {
  readonly #leases: Leases;
  readonly #ended = new Set<string>();
  /** All jobs of a worker come at once: they ask together. */
  readonly #asking = new Map<string, Promise<Standing>>();

  constructor({ store, clock, holder }: { readonly store: Store; readonly clock: Clock; readonly holder: string }) {
    this.#leases = new Leases({ store, clock, holder });
  }

  /**
   * That it has ended is proved by its lease: whoever acquired it has fenced it for good, and what it does to files, which nothing
   * fences, was over by then. @throws MusterError `store_unavailable`
   */
  standing(worker: string): Promise<Standing> {
    const asking = this.#asking.get(worker) ?? this.#ask(worker).finally(() => this.#asking.delete(worker));
    this.#asking.set(worker, asking);
    return asking;
  }

  async #ask(worker: string): Promise<Standing> {
    if (this.#ended.has(worker)) return { ended: true };
    const answer = await this.#acquire(worker);
    if (answer.kind === 'held') {
      const { holder, leftMs, renewed } = answer;
      const lives = renewed && LIMITS.leaseMs - leftMs < LIMITS.renewMs;
      return { ended: false, lives, leftMs, process: processOf(holder) };
    }
    // The next one who asks need not wait.
    await this.#leases.release(answer.lease);
    if (this.#ended.size >= LIMITS.ended) this.#ended.clear();
    this.#ended.add(worker);
    return { ended: true };
  }

  /** Each time that it fails another process was faster, which then asks no more: it does not fail for ever. */
  async #acquire(worker: string): Promise<Acquisition> {
    for (;;) {
      try {
        return await this.#leases.acquire(leaseName(worker), LIMITS.leaseMs);
      } catch (error) {
        if (!(error instanceof GuardFailed)) throw error;
      }
    }
  }
}
