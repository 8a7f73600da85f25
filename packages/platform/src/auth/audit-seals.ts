import type { Clock, Timer } from '@muster/base';
import { chainHash, NO_HASH, type Seal, type ServerKeyLink, type ServerKeys, signSeal } from '@muster/signing';
import type { Schema, Store } from '@muster/store';
import type { Kysely, Selectable } from 'kysely';
import type { Recorder } from '../log/recorder.js';
import { entryOf, type StoredAuditEntry } from './audit.js';
import type { AuditHeads } from './audit-heads.js';
import type { AuditMarks } from './audit-marks.js';
import { AUDIT_EVENTS } from './event-types.js';
import { AUTH_LIMITS } from './limits.js';

export interface AuditSealsDeps {
  readonly store: Store;
  readonly recorder: Pick<Recorder, 'transact'>;
  readonly clock: Clock;
  readonly keys: ServerKeys;
  readonly marks: AuditMarks;
  readonly heads: AuditHeads;
  /** Entries were found that no server has written as they stand. */
  readonly forged: (ids: readonly number[]) => void;
  /** Seals that this server has made, or brought to somebody, are gone: the end of a chain was deleted. */
  readonly cut: (cut: CutChain) => void;
  /** Entries could not be sealed; it is tried again. */
  readonly failed: (error: unknown) => void;
}

/** The end of a chain that was deleted. */
export interface CutChain {
  readonly orgId: string;
  /** The last seal that there is. */
  readonly last: number;
  /** The last that this server has made, or that somebody has who follows the audit. */
  readonly known: number;
}

/** Instead of the id of an organization, in seals of entries that are of none. */
export const OF_NONE = '';

/** Topic of the hint that there are new seals. */
export const SEALED_HINT = 'audit_sealed';

export interface Sealed {
  readonly seal: Seal;
  /** JSON texts, as they were sealed. */
  entries: string[];
}

/**
 * An entry as it is sealed, shown and exported. Names and their order are part of what is sealed: once released, they stay.
 */
export function auditView({ id, at, actor, action, target, outcome, detail }: StoredAuditEntry) {
  const { name, kind, address = null } = actor;
  const time = new Date(at).toISOString();
  return { id, at: time, actor: name, actor_kind: kind, address, action, target, outcome, detail: detail ?? {} };
}

const textOf = (row: Selectable<Schema['audit']>): string => JSON.stringify(auditView(entryOf(row)));

/**
 * Seals entries of the audit, soon after they were written: those of each organization, and those of none, are a chain of their own.
 * See `@muster/signing`. Servers that seal at the same time do not disturb each other: the number of a seal is given once.
 */
export class AuditSeals {
  readonly #deps: AuditSealsDeps;
  #timer: Timer | null = null;
  /** Of that timer. */
  #waitMs = 0;
  #sealing: Promise<void> | null = null;
  /** Entries that were said to be written and were not seen yet. */
  #awaited = 0;
  /** The next look finds what others have left, too. */
  #earlier = false;
  /** How often they were looked for, since one was said to be. */
  #looks = 0;
  #started = false;

  constructor(deps: AuditSealsDeps) {
    this.#deps = deps;
  }

  /** PEM: whoever has it can tell that this server has sealed. */
  get publicKey(): string {
    return this.#deps.keys.present.publicKey;
  }

  /** By which the keys that have sealed before belong to this one. */
  get keyLinks(): readonly ServerKeyLink[] {
    const { links, next } = this.#deps.keys;
    return next === null ? links : [...links, next];
  }

  /** What an earlier process left unsealed comes first. */
  start(): void {
    this.#started = true;
    this.#earlier = true;
    this.#awaited = 0;
    this.#after(AUTH_LIMITS.sealAfterMs);
  }

  async stop(): Promise<void> {
    this.#started = false;
    this.#timer?.cancel();
    await this.#sealing;
  }

  /** There is, or will be, one more entry to seal. What it stands with may take its time until it is stored, and may never be. */
  due(): void {
    this.#awaited += 1;
    this.#looks = 0;
    this.#after(AUTH_LIMITS.sealAfterMs);
  }

  #after(ms: number): void {
    if (!this.#started || (this.#timer !== null && this.#waitMs <= ms)) return;
    const { clock, failed } = this.#deps;
    this.#timer?.cancel();
    this.#waitMs = ms;
    this.#timer = clock.after(ms, () => {
      this.#timer = null;
      this.#sealing = (this.#sealing ?? Promise.resolve())
        .then(async () => this.#sealed(await this.seal()))
        .catch((error: unknown) => {
          failed(error);
          this.#after(AUTH_LIMITS.sealAfterMs);
        });
    });
  }

  /** Of those that are awaited some may have been sealed by another server, or are stored by none. */
  #sealed(entries: number): void {
    if (!this.#earlier) this.#awaited = Math.max(0, this.#awaited - entries);
    this.#earlier = false;
    if (this.#awaited === 0) return;
    this.#looks += 1;
    if (this.#looks < AUTH_LIMITS.sealLooks) this.#after(AUTH_LIMITS.sealAfterMs * 2 ** this.#looks);
    else this.#awaited = 0;
  }

  /** Seals what there is. @returns how many entries @throws MusterError `store_unavailable` */
  async seal(): Promise<number> {
    for (let all = 0; ; ) {
      const sealed = await this.#some();
      all += sealed;
      if (sealed > 0) this.#deps.store.hints.send(SEALED_HINT, '');
      if (sealed < AUTH_LIMITS.sealedAtOnce) return all;
    }
  }

  async #some(): Promise<number> {
    const { recorder, clock, keys, marks, heads } = this.#deps;
    let forged: readonly number[] = [];
    let unknown = false;
    let cuts: readonly CutChain[] = [];
    const made = new Map<string, number>();
    const sealed = await recorder.transact(async (trx, record) => {
      const key = keys.present.privateKey;
      const now = clock.now();
      const found = await trx
        .selectFrom('audit')
        .selectAll()
        .where('seal', 'is', null)
        .orderBy('id')
        .limit(AUTH_LIMITS.sealedAtOnce)
        .execute();
      const judged = found.map((row) => ({ row, verdict: marks.judge(row, now) }));
      cuts = [];
      made.clear();
      forged = judged.filter(({ verdict }) => verdict === 'forged').map(({ row }) => row.id);
      unknown = judged.some(({ verdict }) => verdict === 'unknown');
      const rows = judged
        .filter(({ verdict }) => verdict !== 'unknown')
        .map(({ row, verdict }) => (verdict === 'forged' ? { ...row, outcome: verdict } : row));
      // It stays what it is, and is said to be what it is.
      if (forged.length > 0)
        await trx.updateTable('audit').set({ outcome: 'forged' }).where('id', 'in', forged).execute();
      for (const [orgId, own] of groupsOf(rows, (row) => row.org_id ?? OF_NONE)) {
        const last = await lastSeal(trx, orgId);
        const known = Math.max(heads.of(orgId), await lastBrought(trx, orgId));
        const cut: CutChain = { orgId, last: last?.number ?? 0, known };
        if (known > cut.last) cuts = [...cuts, cut];
        // A number that was given is given to no other seal: who follows would take it for the same, and the gap stays.
        const number = Math.max(cut.last, known) + 1;
        made.set(orgId, number);
        const hash = chainHash(last?.hash ?? NO_HASH, own.map(textOf));
        const sealed = { number, entries: own.length, at: new Date(now).toISOString(), hash };
        const { signature } = signSeal(key, orgId, sealed);
        await trx
          .insertInto('audit_seals')
          .values({ ...sealed, org_id: orgId, at: now, signature })
          .execute();
        const ids = own.map(({ id }) => id);
        await trx.updateTable('audit').set({ seal: number }).where('id', 'in', ids).execute();
        const organization = await trx
          .selectFrom('organizations')
          .select(['id', 'name'])
          .where('id', '=', orgId)
          .executeTakeFirst();
        // Entries of none, and of one that is gone, nobody follows.
        if (organization !== undefined)
          record([AUDIT_EVENTS.tell('audit.sealed', organization, { seal: number }, { entries: own.length })]);
      }
      return rows.length;
    });
    if (made.size > 0) heads.made(made);
    if (forged.length > 0) this.#deps.forged(forged);
    for (const cut of cuts) this.#deps.cut(cut);
    if (unknown) this.#after(AUTH_LIMITS.forgedAfterMs);
    return sealed;
  }

  /**
   * Number of the last seal, whatever the database says: that this server has made, or that somebody has who follows the audit.
   * @param orgId null: of what concerns the whole server.
   */
  async known(orgId: string | null): Promise<number> {
    const id = orgId ?? OF_NONE;
    return Math.max(this.#deps.heads.of(id), await lastBrought(this.#deps.store.read, id));
  }

  /**
   * Seals of an organization after this one, with their entries: as many as make a page, at least one.
   * @param orgId null: of what concerns the whole server.
   */
  async page(orgId: string | null, after: number): Promise<Sealed[]> {
    const { read } = this.#deps.store;
    const seals = await read
      .selectFrom('audit_seals')
      .selectAll()
      .where('org_id', '=', orgId ?? OF_NONE)
      .where('number', '>', after)
      .orderBy('number')
      .limit(AUTH_LIMITS.sealsPerPage)
      .execute();
    let entries = 0;
    const shown = seals.filter((seal, index) => {
      entries += seal.entries;
      return index === 0 || entries <= AUTH_LIMITS.auditPage;
    });
    const last = shown.at(-1)?.number ?? after;
    // By what the rows say: one that was added to a seal is shown, and gives itself away.
    const rows = await read
      .selectFrom('audit')
      .selectAll()
      .where('org_id', orgId === null ? 'is' : '=', orgId)
      .where('seal', '>', after)
      .where('seal', '<=', last)
      .orderBy('id')
      .limit(2 * AUTH_LIMITS.auditPage)
      .execute();
    const bySeal = groupsOf(rows, ({ seal }) => seal ?? 0);
    return shown.map(({ number, entries, at, hash, signature }) => ({
      seal: { number, entries, at: new Date(at).toISOString(), hash, signature },
      entries: (bySeal.get(number) ?? []).map(textOf),
    }));
  }
}

function groupsOf<Row, Key>(rows: readonly Row[], keyOf: (row: Row) => Key): Map<Key, Row[]> {
  const groups = new Map<Key, Row[]>();
  for (const row of rows) {
    const key = keyOf(row);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return groups;
}

/** Of the entries of an organization, or of none. */
export function lastSeal(read: Kysely<Schema>, orgId: string) {
  return read
    .selectFrom('audit_seals')
    .select(['number', 'hash'])
    .where('org_id', '=', orgId)
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** The last seal that arrived at somebody who follows the audit of this organization; 0: none. */
async function lastBrought(read: Kysely<Schema>, orgId: string): Promise<number> {
  const trails = read.selectFrom('audit_trails').select('seal').where('org_id', '=', orgId);
  return (await trails.orderBy('seal', 'desc').limit(1).executeTakeFirst())?.seal ?? 0;
}
