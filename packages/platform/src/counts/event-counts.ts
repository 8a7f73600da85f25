import type { Clock } from '@muster/base';
import type { NewEvent } from '@muster/fabric';
import { type Store, upsert, type Write } from '@muster/store';
import { endedBefore, positionBefore, readBeyond } from '../log/log-reads.js';
import { attributeOfOwn, type EventFamily, MUSTER, typeOfOwn } from '../log/own-events.js';
import type { Recorder } from '../log/recorder.js';
import '../schema/tables.js';
import type { LayerLog } from '../upkeep/logging.js';
import { Upkeep } from '../upkeep/upkeep.js';

export const COUNT_LIMITS = {
  /** That are kept, the present one included. */
  hours: 24,
  /** What was counted meanwhile is counted again after a crash. */
  saveEveryMs: 10_000,
} as const;

const HOUR_MS = 3_600_000;
const MARK = 'counts';

/** Events of one type, and of one status where the type is counted by it, within one hour. */
export interface HourCount {
  /** Hours since the epoch. */
  readonly hour: number;
  readonly type: string;
  /** '': the type is not counted by status. */
  readonly status: string;
  readonly count: number;
}

export interface EventCountsDeps {
  readonly store: Pick<Store, 'read' | 'commit' | 'transact'>;
  readonly recorder: Pick<Recorder, 'last' | 'onStored'>;
  readonly clock: Clock;
  readonly log: LayerLog;
  readonly families: readonly EventFamily[];
}

const saveCount = upsert(
  'event_counts',
  { org_id: 'text', hour: 'integer', type: 'text', status: 'text', count: 'integer' },
  ['org_id', 'hour', 'type', 'status'],
);
const saveMark = upsert('event_marks', { name: 'text', position: 'integer' }, ['name']);

interface Row extends HourCount {
  readonly orgId: string;
}

export function hourOf(atMs: number): number {
  return Math.floor(atMs / HOUR_MS);
}

export function startOfHour(hour: number): number {
  return hour * HOUR_MS;
}

/**
 * How many events of the types that declare to be counted there were, hour by hour. They are counted as they are stored, and kept in
 * memory: whoever asks costs no read. What was counted is stored once in a while, together with the position up to which it was, so that a
 * server that starts goes on there, and no event counts twice.
 */
export class EventCounts {
  readonly #deps: EventCountsDeps;
  readonly #byStatus: ReadonlyMap<string, boolean>;
  readonly #upkeep: Upkeep;
  /** By organization, then by hour, type and status. */
  readonly #counts = new Map<string, Map<string, Row>>();
  readonly #changed = new Set<Row>();
  #deaf: (() => void) | null = null;
  #through = 0;
  #saved = 0;
  #oldest = 0;

  constructor(deps: EventCountsDeps) {
    this.#deps = deps;
    const counted = deps.families.flatMap(({ schemas }) => Object.entries(schemas));
    this.#byStatus = new Map(
      counted.flatMap(([type, schema]) =>
        schema.counted === undefined ? [] : [[type, schema.counted === 'by status'] as const],
      ),
    );
    const failed = (error: unknown): void =>
      deps.log.warn({ err: error }, 'what was counted of events could not be stored; trying again');
    this.#upkeep = new Upkeep({
      clock: deps.clock,
      pauseMs: COUNT_LIMITS.saveEveryMs,
      round: () => this.#save(),
      failed,
    });
  }

  /** Those of the last so many hours, the present one included. */
  of(orgId: string, hours: number): readonly HourCount[] {
    const first = hourOf(this.#deps.clock.now()) - hours + 1;
    return [...(this.#counts.get(orgId)?.values() ?? [])].filter(({ hour }) => hour >= first);
  }

  /** Takes up what is stored, and counts what was not counted since. */
  async load(): Promise<void> {
    const { store, recorder, clock } = this.#deps;
    const upTo = recorder.last;
    this.#deaf = recorder.onStored((events) => {
      for (const { orgId, atMs, recorded } of events) this.#count(orgId, atMs, recorded);
      this.#through = events.at(-1)?.position ?? this.#through;
    });
    this.#oldest = hourOf(clock.now()) - COUNT_LIMITS.hours + 1;
    const rows = await store.read.selectFrom('event_counts').selectAll().where('hour', '>=', this.#oldest).execute();
    for (const { org_id: orgId, hour, type, status, count } of rows) this.#add(orgId, hour, type, status, count, false);
    const mark = store.read.selectFrom('event_marks').select('position').where('name', '=', MARK);
    const young = (await positionBefore(store.read, startOfHour(this.#oldest))) ?? upTo;
    // One that never counted begins now: to read a day of events would keep all from starting.
    const after = Math.max((await mark.executeTakeFirst())?.position ?? upTo, young);
    await this.#catchUp(after, upTo);
    this.#through = Math.max(this.#through, upTo);
  }

  /** The organization was deleted, and what was stored with it. */
  organizationRemoved(orgId: string): void {
    for (const row of this.#counts.get(orgId)?.values() ?? []) this.#changed.delete(row);
    this.#counts.delete(orgId);
  }

  start(): void {
    this.#upkeep.start();
  }

  async stop(): Promise<void> {
    this.#deaf?.();
    await this.#upkeep.stop();
    await this.#save();
  }

  async #catchUp(after: number, upTo: number): Promise<void> {
    const { read } = this.#deps.store;
    let through = await endedBefore(read, after);
    while (through < upTo) {
      // Whose they are is enough: what they are called is not counted.
      const page = await readBeyond(read, through, async (orgId) => orgId);
      for (const { position, orgId, at, event } of page.events) {
        if (position > after && position <= upTo) this.#count(orgId, at, event);
      }
      if (page.through === through) return;
      through = page.through;
    }
  }

  #count(orgId: string, atMs: number, event: NewEvent): void {
    if (event.origin.source !== MUSTER) return;
    const type = typeOfOwn(event);
    const byStatus = this.#byStatus.get(type);
    if (byStatus === undefined) return;
    const status = byStatus ? (attributeOfOwn(event, 'status') ?? '') : '';
    this.#add(orgId, hourOf(atMs), type, status, 1);
  }

  #add(orgId: string, hour: number, type: string, status: string, count: number, isNew = true): void {
    if (hour < this.#oldest) return;
    const rows = this.#counts.get(orgId) ?? new Map<string, Row>();
    this.#counts.set(orgId, rows);
    const key = `${hour} ${type} ${status}`;
    const before = rows.get(key);
    const row = { orgId, hour, type, status, count: count + (before?.count ?? 0) };
    const unsaved = before !== undefined && this.#changed.delete(before);
    rows.set(key, row);
    if (isNew || unsaved) this.#changed.add(row);
  }

  async #save(): Promise<void> {
    await this.#forget();
    const through = this.#through;
    if (through === this.#saved) return;
    const changed = [...this.#changed];
    this.#changed.clear();
    const writes: Write[] = changed.map(({ orgId: org_id, ...row }) => saveCount({ org_id, ...row }));
    try {
      await this.#deps.store.commit([...writes, saveMark({ name: MARK, position: through })]);
      this.#saved = through;
    } catch (error) {
      // Unless they have been counted on meanwhile.
      for (const row of changed) if (this.#isNow(row)) this.#changed.add(row);
      throw error;
    }
  }

  #isNow(row: Row): boolean {
    return this.#counts.get(row.orgId)?.get(`${row.hour} ${row.type} ${row.status}`) === row;
  }

  /** Hours that nobody can ask for any more. */
  async #forget(): Promise<void> {
    const oldest = hourOf(this.#deps.clock.now()) - COUNT_LIMITS.hours + 1;
    if (oldest <= this.#oldest) return;
    await this.#deps.store.transact((trx) => trx.deleteFrom('event_counts').where('hour', '<', oldest).execute());
    this.#oldest = oldest;
    for (const [orgId, rows] of this.#counts) {
      for (const [key, row] of rows) {
        if (row.hour >= oldest) continue;
        rows.delete(key);
        this.#changed.delete(row);
      }
      if (rows.size === 0) this.#counts.delete(orgId);
    }
  }
}
