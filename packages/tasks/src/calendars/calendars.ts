import { named } from '@muster/base';
import type { Actor, Auth, Organization } from '@muster/platform/auth';
import type { LayerLog } from '@muster/platform/upkeep';
import type { Schema, Store } from '@muster/store';
import type { Selectable } from 'kysely';
import { MusterError } from '../errors.js';
import { type Blackout, type BlackoutAt, type Calendar, joined, windowsOf } from './blackout.js';
import { EntryMistake } from './entry.js';
import { CALENDAR_LIMITS } from './limits.js';
import './tables.js';

/** A calendar of an organization. */
export interface NamedCalendar extends Calendar {
  readonly createdAt: number;
  readonly updatedAt: number;
}

export type AskedCalendar = Pick<Calendar, 'description' | 'entries' | 'timezone'>;

/** What heeds a calendar, such as `schedule nightly`. */
export type Heeder = (orgId: string, calendar: string) => Promise<readonly string[]>;

interface Live {
  readonly calendar: NamedCalendar;
  readonly at: BlackoutAt;
}

export interface CalendarsDeps {
  readonly store: Pick<Store, 'read'>;
  readonly auth: Pick<Auth, 'changes'>;
  readonly logger: Pick<LayerLog, 'error'>;
}

/** Calendars of organizations: made, looked at, changed, deleted, and asked. All are in memory. */
export class Calendars {
  readonly #deps: CalendarsDeps;
  readonly #byOrganization = new Map<string, Map<string, Live>>();
  readonly #heeders: Heeder[] = [];
  readonly #changed: (() => void)[] = [];
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: CalendarsDeps) {
    this.#deps = deps;
  }

  /** One that something heeds is not deleted. */
  heeds(heeder: Heeder): void {
    this.#heeders.push(heeder);
  }

  onChanged(changed: () => void): void {
    this.#changed.push(changed);
  }

  async load(): Promise<void> {
    for (const row of await this.#deps.store.read.selectFrom('calendars').selectAll().execute()) {
      const calendar = calendarOf(row);
      try {
        this.#put(row.org_id, { calendar, at: windowsOf([calendar]) });
      } catch (error) {
        if (!(error instanceof EntryMistake)) throw error;
        // Only the rules of time zones can be others than when it was made. What heeds it does not run by mistake.
        this.#deps.logger.error({ err: error, calendar: row.name }, 'a calendar cannot be read: what heeds it waits');
        this.#put(row.org_id, { calendar, at: (at) => unreadable(row.name, at) });
      }
    }
  }

  forget(orgId: string): void {
    this.#byOrganization.delete(orgId);
  }

  /** By name. */
  of(orgId: string): readonly NamedCalendar[] {
    const live = [...(this.#byOrganization.get(orgId)?.values() ?? [])];
    return live.map(({ calendar }) => calendar).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** @throws MusterError `not_found` */
  existing(orgId: string, name: string): NamedCalendar {
    const live = this.#byOrganization.get(orgId)?.get(name);
    if (live === undefined) throw notFound(name);
    return live.calendar;
  }

  /** Why nothing that heeds these is to be started; null: it may be. */
  at(orgId: string, names: readonly string[], at: number): Blackout | null {
    return joined(at, (from) => this.#longest(orgId, names, from));
  }

  #longest(orgId: string, names: readonly string[], at: number): Blackout | null {
    let found: Blackout | null = null;
    for (const name of names) {
      const live = this.#byOrganization.get(orgId)?.get(name);
      const blackout = live === undefined ? unreadable(name, at) : live.at(at);
      if (blackout !== null && (found === null || blackout.until > found.until)) found = blackout;
    }
    return found;
  }

  /** @throws MusterError `already_exists`, `too_busy` */
  create(org: Organization, name: string, asked: AskedCalendar, actor: Actor): Promise<NamedCalendar> {
    return this.#inTurn(async () => {
      const { changes } = this.#deps.auth;
      const live = this.#byOrganization.get(org.id);
      if (live?.has(name)) throw new MusterError('already_exists', { kind: 'calendar', name });
      const most = CALENDAR_LIMITS.perOrganization;
      if (live !== undefined && live.size >= most)
        throw new MusterError('too_busy', { what: 'calendars', limit: most });
      const now = changes.now;
      const calendar: NamedCalendar = { ...asked, name, createdAt: now, updatedAt: now };
      const at = windowsOf([calendar]);
      await changes.apply({ orgId: org.id, actor, action: 'calendar.create', target: name }, (trx) =>
        trx.insertInto('calendars').values(rowOf(org.id, calendar)).execute(),
      );
      this.#put(org.id, { calendar, at });
      return calendar;
    });
  }

  /** What waits for its end is looked at anew. @throws MusterError `not_found` */
  change(org: Organization, name: string, asked: Partial<AskedCalendar>, actor: Actor): Promise<NamedCalendar> {
    return this.#inTurn(async () => {
      const { changes } = this.#deps.auth;
      const calendar = { ...this.existing(org.id, name), ...asked, updatedAt: changes.now };
      const at = windowsOf([calendar]);
      const detail = { changed: Object.keys(asked).join(', ') };
      await changes.apply({ orgId: org.id, actor, action: 'calendar.change', target: name, detail }, async (trx) => {
        const rows = trx.updateTable('calendars').set(rowOf(org.id, calendar)).where('org_id', '=', org.id);
        const { numUpdatedRows } = await rows.where('name', '=', name).executeTakeFirstOrThrow();
        if (numUpdatedRows === 0n) throw notFound(name);
      });
      this.#put(org.id, { calendar, at });
      for (const changed of this.#changed) changed();
      return calendar;
    });
  }

  /** @throws MusterError `not_found`, `calendar_heeded` */
  remove(org: Organization, name: string, actor: Actor): Promise<void> {
    return this.#inTurn(async () => {
      this.existing(org.id, name);
      const heeding = (await Promise.all(this.#heeders.map((heeder) => heeder(org.id, name)))).flat();
      if (heeding.length > 0) throw new MusterError('calendar_heeded', { name, by: named(heeding) });
      await this.#deps.auth.changes.apply({ orgId: org.id, actor, action: 'calendar.delete', target: name }, (trx) =>
        trx.deleteFrom('calendars').where('org_id', '=', org.id).where('name', '=', name).execute(),
      );
      this.#byOrganization.get(org.id)?.delete(name);
    });
  }

  #put(orgId: string, live: Live): void {
    const named = this.#byOrganization.get(orgId) ?? new Map<string, Live>();
    this.#byOrganization.set(orgId, named.set(live.calendar.name, live));
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}

const AGAIN_MS = 3_600_000;

function unreadable(calendar: string, at: number): Blackout {
  return { until: at + AGAIN_MS, calendar, why: 'it cannot be read' };
}

type Row = Selectable<Schema['calendars']>;

function calendarOf({ name, description, timezone, entries, created_at, updated_at }: Row): NamedCalendar {
  return { name, description, timezone, entries: JSON.parse(entries), createdAt: created_at, updatedAt: updated_at };
}

function rowOf(orgId: string, { name, description, timezone, entries, createdAt, updatedAt }: NamedCalendar): Row {
  const about = { name, description, timezone, entries: JSON.stringify(entries) };
  return { ...about, org_id: orgId, created_at: createdAt, updated_at: updatedAt };
}

function notFound(name: string): MusterError {
  return new MusterError('not_found', { kind: 'calendar', name: name.slice(0, 80) });
}
