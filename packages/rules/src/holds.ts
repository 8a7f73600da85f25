import { type Clock, Waker } from '@muster/base';
import { type LayerLog, LeaseKeeper, type Turn } from '@muster/platform/upkeep';
import { fence, type Lease, type Leases, type Store, type Write } from '@muster/store';
import type { Calendars } from '@muster/tasks';
import type { Acting } from './acting.js';
import { RULES_HINT, rulesById } from './directory.js';
import './tables.js';
import type { Rule } from './types.js';

export interface HoldsDeps {
  readonly store: Store;
  readonly leases: Leases;
  readonly clock: Clock;
  readonly log: LayerLog;
  readonly acting: Pick<Acting, 'release'>;
  readonly calendars: Pick<Calendars, 'at'>;
}

/** Until what failed is tried again. */
const AGAIN_MS = 5000;
/** Runs that are read at once. */
const PAGE = 100;

/** Starts what rules had to wait with, for the end of a blackout or for a broker: one process for all, as long as it holds the lease. */
export class Holds {
  readonly #keeper: LeaseKeeper;
  #turn: HeldRuns | null = null;

  constructor(deps: HoldsDeps) {
    const begin = async (lease: Lease): Promise<Turn> => {
      this.#turn = new HeldRuns(deps, lease);
      return this.#turn.start();
    };
    this.#keeper = new LeaseKeeper({ ...deps, name: 'rule holds', begin });
  }

  /** Something waits until then, or calendars are others: it is looked at. */
  look(at: number): void {
    this.#turn?.by(at);
  }

  start(): void {
    this.#keeper.start();
  }

  stop(): Promise<void> {
    return this.#keeper.stop();
  }
}

class HeldRuns implements Turn {
  readonly #deps: HoldsDeps;
  readonly #fence: Write;
  readonly #waker: Waker;
  #deaf: (() => void) | null = null;
  #looking: Promise<void> | null = null;
  #again = false;
  #stopped = false;

  constructor(deps: HoldsDeps, lease: Lease) {
    this.#deps = deps;
    this.#fence = fence(lease);
    this.#waker = new Waker(deps.clock, () => this.#look());
  }

  start(): this {
    this.#deaf = this.#deps.store.hints.listen(RULES_HINT, () => this.#look());
    this.#look();
    return this;
  }

  by(at: number): void {
    if (!this.#stopped) this.#waker.by(at);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#deaf?.();
    this.#waker.stop();
    await this.#looking;
  }

  #look(): void {
    this.#again = true;
    if (this.#looking !== null || this.#stopped) return;
    this.#looking = this.#lookWhileAsked().finally(() => {
      this.#looking = null;
      // Asked for at the last moment.
      if (this.#again) this.#look();
    });
  }

  async #lookWhileAsked(): Promise<void> {
    const { clock, log } = this.#deps;
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false;
        await this.#pass();
      }
    } catch (error) {
      if (this.#stopped) return;
      log.warn({ err: error }, 'what rules wait with could not be looked at; trying again');
      this.#again = false;
      this.#waker.by(clock.now() + AGAIN_MS);
    }
  }

  async #pass(): Promise<void> {
    const { read } = this.#deps.store;
    const waiting = read.selectFrom('rule_runs').select('rule_id').distinct().where('outcome', '=', 'waiting');
    const ids = (await waiting.execute()).map(({ rule_id: id }) => id);
    if (ids.length === 0) return;
    for (const rule of await rulesById(read, ids)) if (!this.#stopped) await this.#ofRule(rule);
  }

  async #ofRule(rule: Rule): Promise<void> {
    const { clock, calendars, acting } = this.#deps;
    if (!rule.enabled)
      return this.#settle(rule, { outcome: 'skipped', reason: 'the rule was switched off', held_until: null });
    const blackout = calendars.at(rule.org.id, rule.notDuring, clock.now());
    if (blackout !== null) {
      this.#waker.by(blackout.until);
      return this.#settle(rule, { held_until: blackout.until });
    }
    for (let after = 0; !this.#stopped; ) {
      const runs = await this.#waiting(rule, after);
      for (const run of runs) {
        if (this.#stopped) return;
        if (!(await acting.release(rule, run, this.#fence))) return;
        after = run.position;
      }
      if (runs.length < PAGE) return;
    }
  }

  /** In the order of their events. */
  #waiting({ id }: Rule, after: number) {
    return this.#deps.store.read
      .selectFrom('rule_runs')
      .select(['position', 'event', 'attributes'])
      .where('rule_id', '=', id)
      .where('outcome', '=', 'waiting')
      .where('position', '>', after)
      .orderBy('position')
      .limit(PAGE)
      .execute();
  }

  async #settle(
    { id }: Rule,
    to: { readonly outcome?: 'skipped'; readonly reason?: string; readonly held_until: number | null },
  ): Promise<void> {
    await this.#deps.store.transact(async (trx, write) => {
      await trx.updateTable('rule_runs').set(to).where('rule_id', '=', id).where('outcome', '=', 'waiting').execute();
      write([this.#fence]);
    });
  }
}
