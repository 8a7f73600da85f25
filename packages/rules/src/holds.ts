import { type Clock, Looks } from '@muster/base';
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
  readonly #looks: Looks;
  #deaf: (() => void) | null = null;
  #stopped = false;

  constructor(deps: HoldsDeps, lease: Lease) {
    this.#deps = deps;
    this.#fence = fence(lease);
    this.#looks = new Looks({
      clock: deps.clock,
      againMs: AGAIN_MS,
      look: () => this.#pass(),
      failed: (error) => deps.log.warn({ err: error }, 'what rules wait with could not be looked at; trying again'),
    });
  }

  start(): this {
    this.#deaf = this.#deps.store.hints.listen(RULES_HINT, () => this.#looks.ask());
    this.#looks.ask();
    return this;
  }

  by(at: number): void {
    this.#looks.askBy(at);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#deaf?.();
    await this.#looks.stop();
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
      this.#looks.askBy(blackout.until);
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
