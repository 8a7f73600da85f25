import type { Clock } from '@muster/base';
import type { Schema, Store, Write } from '@muster/store';
import { insert } from '@muster/store';
import type { Selectable, Transaction } from 'kysely';
import { Budget } from '../upkeep/budget.js';
import type { AuditMarks } from './audit-marks.js';
import { AUTH_LIMITS } from './limits.js';
import type { ActorKind, AuditEntry } from './types.js';

const COLUMNS = {
  org_id: 'text',
  at: 'integer',
  actor: 'text',
  actor_kind: 'text',
  address: 'text',
  action: 'text',
  target: 'text',
  outcome: 'text',
  detail: 'text',
  mark: 'text',
} as const;
const insertAudit = insert('audit', COLUMNS);

export interface StoredAuditEntry extends AuditEntry {
  readonly id: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export interface AuditQuery {
  /** null: what concerns the whole server, and no one organization. */
  readonly orgId: string | null;
  readonly limit: number;
  /** Entries after this id, oldest first: for following. */
  readonly after?: number | undefined;
  /** Entries before this id, newest first; the newest of all without either. */
  readonly before?: number | undefined;
  readonly actor?: string | undefined;
  readonly actorKind?: ActorKind | undefined;
  readonly action?: string | undefined;
}

/** Texts of entries are bounded. */
export const cut = (text: string) => text.slice(0, AUTH_LIMITS.auditText);

/** The same for what is further said, also in the event that tells of the change. */
export function cutDetail(detail: AuditEntry['detail'] = {}): NonNullable<AuditEntry['detail']> {
  const short = (value: string | number | boolean | null) => (typeof value === 'string' ? cut(value) : value);
  return Object.fromEntries(Object.entries(detail).map(([name, value]) => [name, short(value)]));
}

/**
 * The append-only record of denials, changes of identity, and starts and aborts of jobs. A change is recorded in its
 * own transaction; denials come at the rate of whoever knocks, so beyond a limit they are summed up in one entry.
 */
export class Audit {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #marks: AuditMarks;
  readonly #failed: (error: unknown) => void;
  readonly #denials = new Map<string, { readonly budget: Budget; suppressed: number }>();

  /** When, by the monotonic clock, somebody last looked at something; the oldest first. */
  readonly #looks = new Map<string, number>();
  readonly #written: () => void;

  /** `written`: an entry is about to be stored, and wants a seal. */
  constructor(deps: {
    store: Store;
    clock: Clock;
    marks: AuditMarks;
    failed: (error: unknown) => void;
    written?: () => void;
  }) {
    this.#store = deps.store;
    this.#clock = deps.clock;
    this.#marks = deps.marks;
    this.#failed = deps.failed;
    this.#written = deps.written ?? (() => undefined);
  }

  #row(entry: AuditEntry) {
    this.#written();
    const row = {
      org_id: entry.orgId,
      at: this.#clock.now(),
      actor: cut(entry.actor.name),
      actor_kind: entry.actor.kind,
      address: entry.actor.address ?? null,
      action: entry.action,
      target: cut(entry.target),
      outcome: entry.outcome,
      detail: JSON.stringify(cutDetail(entry.detail)),
    };
    return { ...row, mark: this.#marks.mark(row) };
  }

  /** To be committed together with what it records. */
  write(entry: AuditEntry): Write {
    return insertAudit(this.#row(entry));
  }

  /** Stored with the next group commit, and again after the store has recovered. */
  record(entry: AuditEntry): void {
    this.#store.persist([this.write(entry)]).catch(this.#failed);
  }

  /** Inside the transaction that makes the change. */
  async within(trx: Transaction<Schema>, entry: AuditEntry): Promise<void> {
    await trx.insertInto('audit').values(this.#row(entry)).execute();
  }

  /** `bucket` keeps strangers who knock from crowding out the denials of known callers. */
  denied(bucket: 'stranger' | 'caller', entry: Omit<AuditEntry, 'outcome'>): void {
    const now = this.#clock.now();
    const { denialsPerSecond: perSecond, denialBurst: burst } = AUTH_LIMITS;
    const state = this.#denials.get(bucket) ?? { budget: new Budget({ perSecond, burst }, now), suppressed: 0 };
    this.#denials.set(bucket, state);
    if (!state.budget.spend(1, now)) {
      state.suppressed++;
      return;
    }
    const missed: { suppressed_before?: number } = state.suppressed > 0 ? { suppressed_before: state.suppressed } : {};
    state.suppressed = 0;
    this.record({ ...entry, outcome: 'denied', detail: { ...entry.detail, ...missed } });
  }

  /** Somebody looked at something. Who looks at the same, with the same detail, again and again is told of once in ten minutes. */
  looked(entry: Omit<AuditEntry, 'outcome'>, outcome: 'done' | 'failed' = 'done'): void {
    const now = this.#clock.monotonic();
    const { orgId, actor, action, target, detail } = entry;
    const key = JSON.stringify([orgId, actor.kind, actor.name, action, target, detail, outcome]);
    const last = this.#looks.get(key);
    if (last !== undefined && now - last < AUTH_LIMITS.lookAgainAuditedMs) return;
    this.#looks.delete(key);
    this.#looks.set(key, now);
    const [oldest] = this.#looks.keys();
    if (this.#looks.size > AUTH_LIMITS.looksKnown && oldest !== undefined) this.#looks.delete(oldest);
    this.record({ ...entry, outcome });
  }

  async page(query: AuditQuery): Promise<readonly StoredAuditEntry[]> {
    let rows = this.#store.read
      .selectFrom('audit')
      .selectAll()
      .where('org_id', query.orgId === null ? 'is' : '=', query.orgId)
      .orderBy('id', query.after === undefined ? 'desc' : 'asc')
      .limit(query.limit);
    if (query.after !== undefined) rows = rows.where('id', '>', query.after);
    if (query.before !== undefined) rows = rows.where('id', '<', query.before);
    if (query.actor !== undefined) rows = rows.where('actor', '=', query.actor);
    if (query.actorKind !== undefined) rows = rows.where('actor_kind', '=', query.actorKind);
    if (query.action !== undefined) rows = rows.where('action', '=', query.action);
    const now = this.#clock.now();
    return (await rows.execute()).map((row) => {
      const forged = row.seal === null && this.#marks.judge(row, now) === 'forged';
      return entryOf(forged ? { ...row, outcome: 'forged' } : row);
    });
  }
}

export function entryOf(row: Selectable<Schema['audit']>): StoredAuditEntry {
  const { address } = row;
  return {
    id: row.id,
    at: row.at,
    orgId: row.org_id,
    actor: { name: row.actor, kind: row.actor_kind, ...(address !== null && { address }) },
    action: row.action,
    target: row.target,
    outcome: row.outcome,
    detail: JSON.parse(row.detail),
  };
}
