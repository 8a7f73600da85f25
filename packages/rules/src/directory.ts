import type { Clock } from '@muster/base';
import {
  type AuditEntry,
  type Auth,
  actorOf,
  type Identity,
  type Organization,
  organizationsById,
  type RandomBytes,
  whilePresent,
} from '@muster/platform/auth';
import type { Recorder } from '@muster/platform/log';
import type { RunbookLayer, StoredAlong } from '@muster/push';
import { deleteSome, type Schema, type Store } from '@muster/store';
import type { Kysely, Selectable, Transaction } from 'kysely';
import { isAnother } from './another.js';
import { decided } from './decided.js';
import { MusterError } from './errors.js';
import { ruleEdited } from './events.js';
import { RULE_LIMITS } from './limits.js';
import './tables.js';
import type { Asked, Rule, RuleAgreement, RuleRun, Work } from './types.js';

/** Topic of the hint that rules were changed: that of who looks at events for them. */
export const RULES_HINT = 'rules';

export interface RulesDeps {
  readonly store: Store;
  readonly recorder: Recorder;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: RandomBytes;
  readonly auth: Pick<Auth, 'audit' | 'organizations'>;
  readonly approvals: Pick<RunbookLayer['approvals'], 'some'>;
}

/** What others have agreed to. */
export interface AgreedTo {
  readonly agreement: RuleAgreement;
  /** What is stored with it, by its id. */
  readonly along: (id: string) => StoredAlong;
}

type Change = (trx: Transaction<Schema>) => Promise<void>;

interface Changing {
  readonly what: 'change' | 'create' | 'delete';
  readonly by: Identity;
  readonly agreed?: AgreedTo | undefined;
}

/** Rules of organizations: made, looked at, changed, deleted. Who may is decided by the routes. */
export class Rules {
  readonly #deps: RulesDeps;

  constructor(deps: RulesDeps) {
    this.#deps = deps;
  }

  /** By name. */
  async list(org: Organization): Promise<readonly Rule[]> {
    const rows = this.#deps.store.read.selectFrom('rules').selectAll().where('org_id', '=', org.id);
    return (await rows.orderBy('name').execute()).map((row) => ruleOf(org, row));
  }

  async find(org: Organization, name: string): Promise<Rule | null> {
    const rows = this.#deps.store.read.selectFrom('rules').selectAll().where('org_id', '=', org.id);
    const row = await rows.where('name', '=', name).executeTakeFirst();
    return row === undefined ? null : ruleOf(org, row);
  }

  /** @throws MusterError `not_found` */
  async existing(org: Organization, name: string): Promise<Rule> {
    const rule = await this.find(org, name);
    if (rule === null) throw notFound(name);
    return rule;
  }

  /** @throws MusterError `rule_exists`, `too_busy` */
  async create(org: Organization, name: string, asked: Asked, by: Identity, agreed?: AgreedTo): Promise<Rule> {
    const { clock, random, recorder } = this.#deps;
    const now = clock.now();
    const id = Buffer.from(random(12)).toString('hex');
    const about = { id, org, name, since: recorder.last, skipped: 0, createdAt: now, updatedAt: now };
    const rule: Rule = { ...asked, ...about, owner: ownerOf(by), agreement: agreed?.agreement ?? null };
    await this.#change(rule, { what: 'create', by, agreed }, async (trx) => {
      const held = await trx.selectFrom('rules').select('name').where('org_id', '=', org.id).execute();
      if (held.some((one) => one.name === name)) throw new MusterError('rule_exists', { name });
      const most = RULE_LIMITS.perOrganization;
      if (held.length >= most) throw new MusterError('too_busy', { what: 'rules', limit: most });
      await trx.insertInto('rules').values(rowOf(rule)).execute();
    });
    return rule;
  }

  /**
   * From then on it acts with the rights of whoever changed it.
   * @param agreed Of others, to exactly this: it is as it was when they looked at it.
   * @throws MusterError `not_found`, also when others agreed and it is not the same any more
   */
  async change(before: Rule, asked: Partial<Asked>, by: Identity, agreed?: AgreedTo): Promise<Rule> {
    const { recorder } = this.#deps;
    const wakes = asked.enabled === true && !before.enabled;
    // What happened while it was off stays without a run.
    const since = wakes ? recorder.last : before.since;
    const agreement = agreed?.agreement ?? (isAnother(before, asked, by.principalId) ? null : before.agreement);
    const updatedAt = this.#laterThan(before);
    const rule: Rule = { ...before, ...asked, owner: ownerOf(by), since, agreement, updatedAt };
    await this.#change(rule, { what: 'change', by, agreed }, async (trx) => {
      const { skipped: _, ...row } = rowOf(rule);
      let rows = trx.updateTable('rules').set(row).where('id', '=', rule.id);
      if (agreed !== undefined) rows = rows.where('updated_at', '=', before.updatedAt);
      if ((await rows.executeTakeFirstOrThrow()).numUpdatedRows === 0n) throw notFound(rule.name);
    });
    return rule;
  }

  /** Nothing else of it: it stays whose it is. @throws MusterError `not_found` */
  async switchOff(before: Rule, by: Identity): Promise<Rule> {
    if (!before.enabled) return before;
    const rule: Rule = { ...before, enabled: false, updatedAt: this.#laterThan(before) };
    await this.#change(rule, { what: 'change', by }, async (trx) => {
      const off = { enabled: 0, updated_at: rule.updatedAt };
      const rows = trx.updateTable('rules').set(off).where('id', '=', rule.id);
      if ((await rows.executeTakeFirstOrThrow()).numUpdatedRows === 0n) throw notFound(rule.name);
    });
    return rule;
  }

  /** Each change has a time of its own: by it others know what they looked at. */
  #laterThan({ updatedAt }: Rule): number {
    return Math.max(this.#deps.clock.now(), updatedAt + 1);
  }

  /** What it has started goes on. @throws MusterError `not_found` */
  async remove(rule: Rule, by: Identity): Promise<void> {
    await this.#change(rule, { what: 'delete', by }, async (trx) => {
      const rows = trx.deleteFrom('rules').where('id', '=', rule.id);
      if ((await rows.executeTakeFirstOrThrow()).numDeletedRows === 0n) throw notFound(rule.name);
      const where = ['rule_id', [rule.id]] as const;
      await deleteSome(trx, { table: 'rule_runs', key: ['rule_id', 'position'], where, most: RULE_LIMITS.runs });
    });
  }

  /** The newest first; of those that had to be asked for, what was decided since. */
  async runs({ id, org }: Pick<Rule, 'id' | 'org'>, limit: number, offset: number): Promise<readonly RuleRun[]> {
    const runs = await this.#deps.store.read
      .selectFrom('rule_runs')
      .select(['position', 'at', 'event', 'outcome', 'kind', 'run', 'reason', 'held_until'])
      .where('rule_id', '=', id)
      .orderBy('position', 'desc')
      .limit(limit)
      .offset(offset)
      .execute();
    const asked = runs.flatMap(({ outcome, run }) => (outcome === 'asked' && run !== null ? [run] : []));
    const approvals = new Map((await this.#deps.approvals.some(org, asked)).map((one) => [one.id, one]));
    return runs.map((run) => (run.outcome === 'asked' ? decided(run, approvals.get(run.run ?? '')) : run));
  }

  async #change(rule: Rule, { what, by, agreed }: Changing, work: Change): Promise<void> {
    const { recorder, store, auth } = this.#deps;
    const { org, name, work: started, selector } = rule;
    const said = { create: 'created', change: 'changed', delete: 'removed' } as const;
    const entry: AuditEntry = {
      orgId: org.id,
      actor: actorOf(by),
      action: `rule.${what}`,
      target: name,
      outcome: 'done',
      detail: {
        ...(what !== 'delete' && { on: selector, kind: started.kind, enabled: rule.enabled }),
        ...(agreed && { approval: agreed.agreement.approval }),
      },
    };
    const { writes = [], events = [] } = agreed?.along(rule.id) ?? {};
    const changing = recorder.transact(async (trx, record, write) => {
      await work(trx);
      record([ruleEdited(said[what], rule, by.name), ...events]);
      write([auth.organizations.present(org), auth.audit.write(entry), ...writes]);
    });
    await whilePresent(org, changing);
    store.hints.send(RULES_HINT, '');
  }
}

/** Those of all organizations that are on. */
export async function enabledRules(read: Kysely<Schema>): Promise<readonly Rule[]> {
  return rulesOf(read, await read.selectFrom('rules').selectAll().where('enabled', '=', 1).orderBy('id').execute());
}

/** With these ids, as far as there are. */
export async function rulesById(read: Kysely<Schema>, ids: readonly string[]): Promise<readonly Rule[]> {
  return rulesOf(read, await read.selectFrom('rules').selectAll().where('id', 'in', ids).orderBy('id').execute());
}

/** Those that heed this calendar. */
export async function heedingRules(read: Kysely<Schema>, orgId: string, calendar: string): Promise<readonly string[]> {
  const rows = await read.selectFrom('rules').select(['name', 'not_during']).where('org_id', '=', orgId).execute();
  const found = rows.filter(({ not_during: names }) => (JSON.parse(names) as string[]).includes(calendar));
  return found.map(({ name }) => `rule ${name}`);
}

async function rulesOf(read: Kysely<Schema>, rows: readonly Row[]): Promise<readonly Rule[]> {
  if (rows.length === 0) return [];
  const organizations = await organizationsById(read);
  return rows.flatMap((row) => {
    const org = organizations.get(row.org_id);
    return org === undefined ? [] : [ruleOf(org, row)];
  });
}

type Row = Selectable<Schema['rules']>;

function ruleOf(org: Organization, row: Row): Rule {
  return {
    id: row.id,
    org,
    name: row.name,
    selector: row.selector,
    work: JSON.parse(row.work) as Work,
    atMost: { runs: row.most_runs, seconds: row.most_seconds },
    notDuring: JSON.parse(row.not_during) as string[],
    blackout: row.blackout,
    enabled: row.enabled === 1,
    asks: row.asks ?? 'each',
    agreement: row.agreement === null ? null : (JSON.parse(row.agreement) as RuleAgreement),
    owner: { principalId: row.owner_id, type: row.owner_type, name: row.owner_name },
    since: row.since,
    skipped: row.skipped,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function rowOf({ id, org, name, selector, work, atMost, notDuring, blackout, enabled, owner, ...one }: Rule): Row {
  return {
    ...{ id, org_id: org.id, name, selector, work: JSON.stringify(work), enabled: enabled ? 1 : 0 },
    ...{ not_during: JSON.stringify(notDuring), blackout },
    ...{ asks: one.asks, agreement: one.agreement && JSON.stringify(one.agreement) },
    ...{ most_runs: atMost.runs, most_seconds: atMost.seconds },
    ...{ owner_id: owner.principalId, owner_type: owner.type, owner_name: owner.name },
    ...{ since: one.since, skipped: one.skipped, created_at: one.createdAt, updated_at: one.updatedAt },
  };
}

function ownerOf({ principalId, type, name }: Identity): Rule['owner'] {
  return { principalId, type, name };
}

function notFound(name: string): MusterError {
  return new MusterError('not_found', { kind: 'rule', name: name.slice(0, RULE_LIMITS.name) });
}
