import type { Clock, Timer } from '@muster/base';
import { fence as heldStill, type Lease, Leases, markEpoch, type Store } from '@muster/store';
import type { LayerLog } from '../upkeep/logging.js';
import { CLUSTER_LIMITS } from './limits.js';
import { asksOthers, type Leadership, stepLeadership } from './machine.js';

/** Of all that is done for the cluster: one server at a time has it. */
export const LEADER_LEASE = 'cluster';
/** Changes with the leader and at no other time, so that what a leader stores can depend on it. */
const FENCE_ROW = 'cluster:fence';
/** Sent when the lease is given back. */
const TOPIC = 'cluster';

/** What every transaction of a leader depends on. */
export interface Fence {
  readonly name: string;
  readonly holder: string;
  readonly epoch: number;
}

export interface ElectionDeps {
  /** That no fence stands before: it is where the lease is. */
  readonly store: Store;
  readonly clock: Clock;
  readonly log: LayerLog;
  readonly incarnation: string;
  /** May it lead now? Otherwise why not, for the log. */
  readonly eligible: () => Promise<string | null>;
  /** Asks the other servers who leads. */
  readonly others: () => Promise<{ readonly epoch: number | null; readonly asked: number }>;
  readonly elected: (fence: Fence) => void;
  readonly deposed: (why: string) => void;
}

/** Sees to it that one server of the cluster leads, and that it knows when it does not any more. */
export class Election {
  readonly #deps: ElectionDeps;
  readonly #leases: Leases;
  #state: Leadership = { role: 'follower' };
  #lease: Lease | null = null;
  #timer: Timer | null = null;
  #round: Promise<void> | null = null;
  #unlisten: () => void = () => undefined;
  #stopped = false;
  #reason: string | null = null;

  constructor(deps: ElectionDeps) {
    this.#deps = deps;
    this.#leases = new Leases({ store: deps.store, clock: deps.clock, holder: deps.incarnation });
  }

  get state(): Leadership {
    return this.#state;
  }

  start(): void {
    this.#unlisten = this.#deps.store.hints.listen(TOPIC, () => {
      if (this.#state.role === 'follower') this.#soon();
    });
    this.#next(0);
  }

  /** Looks no more. A lease that it has stays until `resign`, or its end. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#unlisten();
    await this.#round;
  }

  /** Gives the lease back, so that nobody waits for its end. After everything that was done under it has stopped. */
  async resign(): Promise<void> {
    // A renewal that is under way would make it lead again.
    while (this.#round !== null) await this.#round;
    this.#timer?.cancel();
    this.#round = this.#giveBack().then(() => this.#afterRound(CLUSTER_LIMITS.lookMs));
    await this.#round;
  }

  async #giveBack(): Promise<void> {
    const lease = this.#lease;
    this.#lease = null;
    if (this.#state.role === 'leader') this.#step({ type: 'resigned' });
    if (lease === null) return;
    await this.#leases.release(lease).catch(() => undefined);
    this.#deps.store.hints.send(TOPIC, 'given back');
  }

  /** The database has refused to store something in the name of this server. */
  fencedOff(): void {
    this.#step({ type: 'lost' });
  }

  #soon(): void {
    if (this.#stopped || this.#round !== null) return;
    this.#timer?.cancel();
    this.#next(0);
  }

  #next(delayMs: number): void {
    if (this.#stopped || this.#state.role === 'deposed') return;
    this.#timer = this.#deps.clock.after(delayMs, () => {
      this.#round = this.#look()
        .catch((error: unknown) => this.#failed(error))
        .then((pauseMs) => this.#afterRound(pauseMs));
    });
  }

  #afterRound(pauseMs: number): void {
    this.#round = null;
    this.#next(pauseMs);
  }

  /** Milliseconds until the next look. */
  async #look(): Promise<number> {
    const { lookMs, leaseMs } = CLUSTER_LIMITS;
    if (this.#lease !== null) {
      const renewed = await this.#leases.renew(this.#lease, leaseMs);
      if (renewed === null) this.#step({ type: 'lost' });
      else {
        this.#lease = renewed;
        this.#step({ type: 'renewed', epoch: renewed.epoch, actUntil: renewed.actUntil });
      }
      return lookMs;
    }
    const reason = await this.#deps.eligible();
    if (reason !== null) {
      if (reason !== this.#reason) this.#deps.log.info({ reason }, 'this server does not stand for election');
      this.#reason = reason;
      return lookMs;
    }
    this.#reason = null;
    const answer = await this.#leases.acquire(LEADER_LEASE, leaseMs);
    if (answer.kind === 'held') {
      this.#step({ type: 'held' });
      return Math.min(lookMs, Math.max(1, answer.leftMs));
    }
    await this.#lead(answer.lease);
    return lookMs;
  }

  async #lead(lease: Lease): Promise<void> {
    const { store, incarnation, elected } = this.#deps;
    const { epoch, actUntil } = lease;
    const fence: Fence = { name: FENCE_ROW, holder: incarnation, epoch };
    // It waits for what a former leader is storing, and refuses all that it would store afterwards.
    await store.commit([heldStill(lease), markEpoch(FENCE_ROW, lease)]);
    if (this.#stopped) {
      await this.#leases.release(lease).catch(() => undefined);
      return;
    }
    this.#lease = lease;
    this.#step({ type: 'acquired', epoch, actUntil });
    elected(fence);
  }

  async #failed(error: unknown): Promise<number> {
    const { clock, log, others } = this.#deps;
    log.warn({ err: error }, 'who leads the cluster could not be looked up; trying again');
    this.#step({ type: 'no answer', now: clock.monotonic() });
    if (asksOthers(this.#state, clock.monotonic())) {
      const said = await others();
      this.#step({ type: 'others said', ...said, now: clock.monotonic() });
    }
    return CLUSTER_LIMITS.lookMs;
  }

  #step(event: Parameters<typeof stepLeadership>[1]): void {
    const before = this.#state;
    this.#state = stepLeadership(before, event);
    if (this.#state.role === 'deposed' && before.role !== 'deposed') this.#deps.deposed(this.#state.why);
  }
}
