import { type Clock, every, type Timer } from '@muster/base';
import { type Lease, Leases, MISSED, type Store } from '@muster/store';
import type { Limits } from '../limits.js';
import type { BrokerLog } from '../types.js';
import { holders, release } from './repository.js';

const HELLO = 'broker.holders';
const PREFIX = 'broker.';
const nameOf = (holder: string): string => `${PREFIX}${holder}`;

export interface HoldersDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: BrokerLog;
  readonly limits: Limits;
  readonly holder: string;
  /** What a process had went back to the queues. */
  freed(): void;
  /** This process was silent for so long that others have taken back what it had. */
  lost(): void;
}

/**
 * Who has messages in hand, where several processes share a database: each has a lease, and when one has ended, whoever
 * notices first takes it over and gives back to the queues what its holder had.
 */
export class Holders {
  readonly #deps: HoldersDeps;
  readonly #leases: Leases;
  #lease: Lease | null = null;
  #renewing: Timer | undefined;
  #looking: Timer | undefined;
  readonly #watched = new Map<string, Timer>();
  #stop: () => void = () => undefined;
  #closed = false;

  constructor(deps: HoldersDeps) {
    this.#deps = deps;
    this.#leases = new Leases(deps);
  }

  /** @throws MusterError `store_unavailable` */
  async begin(): Promise<void> {
    const { store, clock, limits, holder } = this.#deps;
    await this.#acquire();
    this.#renewing = every(clock, Math.floor(limits.leaseMs / 3), () => void this.#renew());
    this.#stop = store.hints.listen(HELLO, (text) => {
      if (text === MISSED) void this.#look();
      else this.#watch(text, limits.leaseMs);
    });
    store.hints.send(HELLO, holder);
  }

  /** After what this process had was given back. */
  async end(): Promise<void> {
    this.#closed = true;
    this.#stop();
    this.#renewing?.cancel();
    this.#looking?.cancel();
    for (const timer of this.#watched.values()) timer.cancel();
    if (this.#lease !== null) await this.#leases.release(this.#lease);
  }

  /** It may have ended before, and be watched by nobody. Not at once, so that nothing goes to and fro without a pause. */
  handedOver(holder: string): void {
    this.#watch(holder, this.#deps.limits.orphanMs);
  }

  /** From now on it is looked after, if it was not before. */
  #watch(holder: string, afterMs: number): void {
    const { clock } = this.#deps;
    if (this.#closed || holder === this.#deps.holder || this.#watched.has(holder)) return;
    this.#watched.set(
      holder,
      clock.after(afterMs, () => void this.#check(holder)),
    );
  }

  async #look(): Promise<void> {
    const { store, clock, limits } = this.#deps;
    try {
      for (const holder of await holders(store)) this.#watch(holder, 0);
      // Those that have nothing in hand yet said that they began before anybody here could hear it.
      for (const name of await this.#leases.held(PREFIX)) this.#watch(name.slice(PREFIX.length), limits.leaseMs);
    } catch (err) {
      this.#deps.log.warn({ err }, 'it cannot be seen now which processes have messages in hand');
      this.#looking = clock.after(limits.leaseMs, () => void this.#look());
    }
  }

  async #check(holder: string): Promise<void> {
    const { store, limits, log, freed } = this.#deps;
    this.#watched.delete(holder);
    try {
      const answer = await this.#leases.acquire(nameOf(holder), limits.leaseMs);
      if (answer.kind === 'held') {
        this.#watch(holder, Math.min(answer.leftMs, limits.orphanMs));
        return;
      }
      await store.transact((trx) => release(trx, holder));
      await this.#leases.release(answer.lease);
      log.info({ holder }, 'a process that had messages in hand is gone: they are delivered to others');
      freed();
    } catch (err) {
      log.warn({ err, holder }, 'the messages of a process that is gone cannot be given back now');
      this.#watch(holder, limits.leaseMs);
    }
  }

  async #acquire(): Promise<void> {
    const { holder, limits } = this.#deps;
    const answer = await this.#leases.acquire(nameOf(holder), limits.leaseMs);
    if (answer.kind === 'held') throw new Error(`${holder} is the name of another process: ${answer.holder}`);
    this.#lease = answer.lease;
  }

  async #renew(): Promise<void> {
    const { limits, log, lost } = this.#deps;
    try {
      const lease = this.#lease;
      this.#lease = lease === null ? null : await this.#leases.renew(lease, limits.leaseMs);
      if (this.#lease !== null) return;
      await this.#acquire();
      log.warn({}, 'this process was silent for too long: its messages were delivered to others');
      lost();
    } catch (err) {
      log.warn({ err }, 'the lease of this process at its messages cannot be renewed now');
    }
  }
}
