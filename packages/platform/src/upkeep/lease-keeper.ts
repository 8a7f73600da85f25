import type { Clock, Timer } from '@muster/base';
import type { Lease, Leases } from '@muster/store';
import type { LayerLog } from './logging.js';

/** What one process at a time does. */
export interface Turn {
  /** It is ours no longer, or the process ends: nothing is begun any more. */
  stop(): Promise<void>;
}

export interface LeaseKeeperDeps {
  readonly leases: Leases;
  readonly clock: Clock;
  readonly log: LayerLog;
  readonly name: string;
  /** Begins the turn. What it stores goes with `fence(lease)`. */
  readonly begin: (lease: Lease) => Promise<Turn>;
}

const TTL_MS = 12_000;
/** Also of looks at one that another process holds: it is taken so much later than it could be, at most. */
const RENEW_MS = 4_000;

/**
 * Sees to it that one process, of all that could, does a thing: as long as it holds the lease, which it renews. Another one takes it
 * up when it has seen for a whole lease that nobody renews it.
 */
export class LeaseKeeper {
  readonly #deps: LeaseKeeperDeps;
  #lease: Lease | null = null;
  #turn: Turn | null = null;
  #timer: Timer | null = null;
  #round: Promise<void> | null = null;
  #stopped = false;

  constructor(deps: LeaseKeeperDeps) {
    this.#deps = deps;
  }

  /** Whether this process has its turn now. */
  get holds(): boolean {
    return this.#turn !== null;
  }

  start(): void {
    this.#next(0);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#round;
    await this.#end();
    const lease = this.#lease;
    this.#lease = null;
    // Whoever waits for it need not wait for its end.
    if (lease !== null) await this.#deps.leases.release(lease).catch(() => undefined);
  }

  #next(delayMs: number): void {
    if (this.#stopped) return;
    this.#timer = this.#deps.clock.after(delayMs, () => {
      this.#round = this.#look()
        .catch((error: unknown) => this.#failed(error))
        .then((pauseMs) => this.#next(pauseMs));
    });
  }

  /** Milliseconds until the next look. */
  async #look(): Promise<number> {
    const { leases, name, begin } = this.#deps;
    if (this.#lease !== null) {
      const renewed = await this.#renewed(this.#lease);
      if (renewed !== null) {
        this.#lease = renewed;
        return RENEW_MS;
      }
      this.#lease = null;
      await this.#end();
    }
    const answer = await leases.acquire(name, TTL_MS);
    if (answer.kind === 'held') return Math.min(RENEW_MS, answer.leftMs);
    if (this.#stopped) {
      this.#lease = answer.lease;
      return RENEW_MS;
    }
    this.#lease = answer.lease;
    this.#turn = await begin(answer.lease);
    return RENEW_MS;
  }

  #renewed(lease: Lease): Promise<Lease | null> {
    return this.#deps.leases.renew(lease, TTL_MS);
  }

  async #failed(error: unknown): Promise<number> {
    const { clock, log, name } = this.#deps;
    log.warn({ err: error, lease: name }, 'a lease could not be renewed or taken; trying again');
    // By then another process may have it.
    if (this.#lease !== null && clock.monotonic() >= this.#lease.actUntil - RENEW_MS) {
      this.#lease = null;
      await this.#end();
    }
    return this.#turn === null && this.#lease !== null ? this.#giveBack() : RENEW_MS;
  }

  /** Its turn could not begin. */
  async #giveBack(): Promise<number> {
    const lease = this.#lease;
    this.#lease = null;
    if (lease !== null) await this.#deps.leases.release(lease).catch(() => undefined);
    return RENEW_MS;
  }

  async #end(): Promise<void> {
    const turn = this.#turn;
    this.#turn = null;
    await turn?.stop();
  }
}
