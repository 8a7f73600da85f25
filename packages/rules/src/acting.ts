import type { Clock } from '@muster/base';
import { Delivery } from '@muster/fabric';
import { type Auth, principalNow } from '@muster/platform/auth';
import type { Acted, Chosen } from '@muster/platform/events';
import type { Recordable, Recorder } from '@muster/platform/log';
import { insert, type Schema, type Store, update, type Write } from '@muster/store';
import { type Blackout, blackoutText, type Calendars } from '@muster/tasks';
import { type Selectable, sql, type Transaction } from 'kysely';
import { MusterError } from './errors.js';
import { type Occasion, ruleFailed, ruleRan, ruleSkipped } from './events.js';
import { RULE_LIMITS } from './limits.js';
import { type Cause, judge } from './machine.js';
import { reasonOf } from './reason.js';
import type { Starting } from './starting.js';
import './tables.js';
import { type Attributes, namedIn, Unfilled } from './template.js';
import type { Rule } from './types.js';

const addRun = insert(
  'rule_runs',
  {
    rule_id: 'text',
    org_id: 'text',
    position: 'integer',
    at: 'integer',
    event: 'text',
    outcome: 'text',
    kind: 'text',
    run: 'text',
    reason: 'text',
    depth: 'integer',
    held_until: 'integer',
    attributes: 'text',
  },
  ['rule_id', 'position'],
);

const settleRun = update(
  'rule_runs',
  {
    rule_id: 'text',
    position: 'integer',
    outcome: 'text',
    kind: 'text',
    run: 'text',
    reason: 'text',
    held_until: 'integer',
    attributes: 'text',
  },
  ['rule_id', 'position'],
);

/** A run that waits for the end of a blackout. */
export type HeldRun = Pick<Selectable<Schema['rule_runs']>, 'attributes' | 'event' | 'position'>;

/** What became of an event. */
type Outcome = Partial<
  Pick<Selectable<Schema['rule_runs']>, 'attributes' | 'held_until' | 'outcome' | 'reason' | 'run'>
>;
/** How that is stored. */
type Settle = (outcome: Outcome) => Write;

/** Nothing is started before that. */
const ASKED = { outcome: 'asked', reason: 'it waits until others agree (muster approval list)' } as const;

/** Until a queue that takes no jobs now is tried again. */
const AGAIN_MS = 10_000;

export interface ActingDeps {
  readonly store: Pick<Store, 'read'>;
  readonly recorder: Pick<Recorder, 'commit' | 'transact'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly auth: Pick<Auth, 'audit' | 'repository'>;
  readonly starting: Starting;
  readonly calendars: Pick<Calendars, 'at'>;
  /** Something waits until then. */
  readonly held: (until: number) => void;
}

/** Does what rules say about events. What is started is stored with the event for which it was, so that it is started once. */
export class Acting {
  readonly #deps: ActingDeps;
  /** Rules that skip: it was told of the first. */
  readonly #skipping = new Set<string>();

  constructor(deps: ActingDeps) {
    this.#deps = deps;
  }

  /** @throws MusterError `store_unavailable`, GuardFailed: then it is done again, and what was done is not. */
  async act(chosen: readonly Chosen<Rule>[], [fence]: readonly Write[]): Promise<Acted> {
    if (fence === undefined) throw new Error('rules act under a lease');
    if (await this.#areStale(chosen)) return 'stale';
    const event = new Delivery();
    for (const { chooser: rule, type, event: stored } of chosen) {
      // What rules tell of themselves starts no rule.
      if (type.startsWith('rule.')) continue;
      event.show(stored);
      await this.#one(rule, event, { event: type, position: stored.position }, fence);
    }
    return 'done';
  }

  /** One of them was changed or deleted since it was read. */
  async #areStale(chosen: readonly Chosen<Rule>[]): Promise<boolean> {
    const ids = [...new Set(chosen.map(({ chooser }) => chooser.id))];
    const rows = this.#deps.store.read.selectFrom('rules').select(['id', 'updated_at']).where('id', 'in', ids);
    const changed = new Map((await rows.execute()).map(({ id, updated_at }) => [id, updated_at]));
    return chosen.some(({ chooser: { id, updatedAt } }) => changed.get(id) !== updatedAt);
  }

  async #one(rule: Rule, event: Delivery, occasion: Occasion, fence: Write): Promise<void> {
    const { clock } = this.#deps;
    if (await this.#wasDone(rule, occasion)) return;
    const now = clock.now();
    const verdict = judge(rule, await this.#cause(rule, event), await this.#startedAt(rule, now), now);
    if (verdict.type === 'skip') return this.#skip(rule, occasion, verdict.why, fence);
    const row: Selectable<Schema['rule_runs']> = {
      ...{ rule_id: rule.id, org_id: rule.org.id, position: occasion.position, at: now, event: occasion.event },
      ...{ kind: rule.work.kind, depth: verdict.depth, run: null, reason: null, held_until: null },
      ...{ attributes: null, outcome: 'started' },
    };
    const blackout = this.#deps.calendars.at(rule.org.id, rule.notDuring, now);
    if (blackout !== null) {
      if (rule.blackout === 'wait') return this.#hold(rule, occasion, event, blackout, row, fence);
      const skipped = addRun({ ...row, outcome: 'skipped', reason: blackoutText(blackout) });
      return this.#skip(rule, occasion, 'calendar', fence, [skipped]);
    }
    this.#skipping.delete(rule.id);
    await this.#start(rule, event, occasion, fence, {
      settle: (outcome) => addRun({ ...row, ...outcome }),
      isHeld: false,
    });
  }

  /** Starts what waited. @param fence Of whoever sees to it that it is done once. @returns false: it waits again. */
  async release(rule: Rule, { event, position, attributes }: HeldRun, fence: Write): Promise<boolean> {
    const known = JSON.parse(attributes ?? '{}') as Readonly<Record<string, string>>;
    const named: Attributes = { get: (name) => (Object.hasOwn(known, name) ? known[name] : undefined) };
    const about = {
      ...{ rule_id: rule.id, position, kind: rule.work.kind, held_until: null, attributes: null },
      ...{ run: null, reason: null, outcome: 'started' as const },
    };
    const settle: Settle = (outcome) => settleRun({ ...about, ...outcome });
    return this.#start(rule, named, { event, position }, fence, { settle, isHeld: true });
  }

  async #hold(
    rule: Rule,
    occasion: Occasion,
    event: Delivery,
    blackout: Blackout,
    row: Selectable<Schema['rule_runs']>,
    fence: Write,
  ): Promise<void> {
    if (!(await this.#mayWait(rule))) return this.#skip(rule, occasion, 'limit', fence);
    const held = later(rule, event, blackoutText(blackout), blackout.until);
    await this.#store({ writes: [fence, addRun({ ...row, ...held })], events: [] });
    this.#deps.held(blackout.until);
  }

  async #mayWait({ id }: Rule): Promise<boolean> {
    const rows = this.#deps.store.read.selectFrom('rule_runs').where('rule_id', '=', id);
    const waiting = rows.where('outcome', '=', 'waiting').select((one) => one.fn.countAll<number>().as('count'));
    const { count } = await waiting.executeTakeFirstOrThrow();
    return Number(count) < RULE_LIMITS.waiting;
  }

  /** @returns false: it waits. */
  async #start(
    rule: Rule,
    event: Attributes,
    occasion: Occasion,
    fence: Write,
    { settle: run, isHeld }: { readonly settle: Settle; readonly isHeld: boolean },
  ): Promise<boolean> {
    const along = (id: string, isAsked = false) => ({
      writes: [fence, run({ run: id, ...(isAsked && ASKED) }), this.#audited(rule, occasion, 'done', { run: id })],
      events: [ruleRan(rule, occasion, rule.work.kind, id)],
    });
    try {
      const owner = await principalNow(this.#deps.auth.repository, rule.org, rule.owner);
      if (owner === null)
        throw new Unfilled(`${rule.owner.name}, for whom it acts, does not belong to the organization`);
      const once = `rule ${rule.id} ${occasion.position}`;
      const { run: id, stored } = await this.#deps.starting.start(owner, rule.org, rule, event, once, along);
      if (!stored) await this.#store(along(id));
    } catch (error) {
      const reason = reasonOf(error);
      if (reason === null) throw error;
      const isAway = error instanceof MusterError && error.code === 'job_queue_unavailable';
      if (isAway && (isHeld || (await this.#mayWait(rule)))) {
        // Other rules do not wait for a broker that is away.
        const until = this.#deps.clock.now() + AGAIN_MS;
        await this.#store({ writes: [fence, run(later(rule, event, reason, until))], events: [] });
        this.#deps.held(until);
        return false;
      }
      const failed = [run({ outcome: 'failed', reason }), this.#audited(rule, occasion, 'failed', { reason })];
      await this.#store({ writes: [fence, ...failed], events: [ruleFailed(rule, occasion, reason)] });
    }
    return true;
  }

  async #store({ writes, events }: { readonly writes: readonly Write[]; readonly events: readonly Recordable[] }) {
    await this.#deps.recorder.commit(writes, events);
  }

  #audited(
    rule: Rule,
    { event, position }: Occasion,
    outcome: 'done' | 'failed',
    became: { readonly run: string } | { readonly reason: string },
  ): Write {
    return this.#deps.auth.audit.write({
      orgId: rule.org.id,
      actor: { name: rule.owner.name, kind: rule.owner.type },
      action: 'rule.run',
      target: rule.name,
      outcome,
      detail: { event, position, kind: rule.work.kind, ...became },
    });
  }

  /** The count is of this attempt: after a crash in the midst of a piece of the log it may be counted twice. */
  async #skip(
    rule: Rule,
    occasion: Occasion,
    why: 'calendar' | 'limit' | 'loop',
    fence: Write,
    told: readonly Write[] = [],
  ): Promise<void> {
    const first = !this.#skipping.has(rule.id);
    await this.#deps.recorder.transact(async (trx, record, write) => {
      await countSkipped(trx, rule.id);
      if (first) record([ruleSkipped(rule, occasion, why)]);
      write([fence, ...told]);
    });
    this.#skipping.add(rule.id);
  }

  async #wasDone({ id }: Rule, { position }: Occasion): Promise<boolean> {
    const rows = this.#deps.store.read.selectFrom('rule_runs').select('position').where('rule_id', '=', id);
    return (await rows.where('position', '=', position).executeTakeFirst()) !== undefined;
  }

  /** The run of a rule that the event tells of, if it tells of one. */
  async #cause({ org }: Rule, event: Delivery): Promise<Cause | null> {
    const named = ['job', 'task', 'run', 'approval'].flatMap((name) => event.get(name) ?? []);
    if (named.length === 0) return null;
    const row = await this.#deps.store.read
      .selectFrom('rule_runs')
      .select(['rule_id', 'depth'])
      .where('run', 'in', named)
      .where('org_id', '=', org.id)
      .orderBy('depth', 'desc')
      .limit(1)
      .executeTakeFirst();
    return row === undefined ? null : { ruleId: row.rule_id, depth: row.depth };
  }

  async #startedAt({ id, atMost }: Rule, now: number): Promise<readonly number[]> {
    const rows = await this.#deps.store.read
      .selectFrom('rule_runs')
      .select('at')
      .where('rule_id', '=', id)
      // What a calendar left out, or could not be started, stands among the runs, and was none.
      .where('outcome', 'not in', ['failed', 'skipped'])
      .where('at', '>', now - atMost.seconds * 1000)
      .orderBy('position', 'desc')
      .limit(atMost.runs)
      .execute();
    return rows.map(({ at }) => at);
  }
}

/** Of its event what the rule names, for later. */
function later({ work }: Rule, event: Attributes, reason: string, until: number): Outcome {
  return { outcome: 'waiting', reason, held_until: until, attributes: JSON.stringify(namedIn(work, event)) };
}

async function countSkipped(trx: Transaction<Schema>, id: string): Promise<void> {
  await trx.updateTable('rules').set({ skipped: sql<number>`skipped + 1` }).where('id', '=', id).execute();
}
