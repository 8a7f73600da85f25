import type { Clock, Timer } from '@muster/base';
import type { NewEvent, PrincipalKind, Schedule } from '@muster/fabric';
import type { Store } from '@muster/store';
import type { RandomBytes, Trx } from '../auth/changes.js';
import type { Organization } from '../auth/types.js';
import { MusterError } from '../errors.js';
import type { Recorder } from '../log/recorder.js';
import { EVENT_EVENTS } from './event-types.js';
import { EVENT_LIMITS } from './limits.js';
import {
  eventOf,
  type ScheduledEvent,
  type ScheduledRow,
  scheduledEvent,
  scheduledRow,
  scheduleWrite,
} from './scheduled-rows.js';

/** Of future events. A user and a node of the same name are two. */
export interface EventOwner {
  /** `ORG/NAME` */
  readonly source: string;
  readonly kind: PrincipalKind;
}

export interface EventScheduleDeps {
  readonly store: Store;
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly random: RandomBytes;
  /** By name; undefined when there is none (any more). */
  readonly organization: (name: string) => Promise<Organization | undefined>;
  /** Future events of one organization. */
  readonly most: number;
  readonly log: { warn(detail: object, message: string): void };
}

/**
 * Future events: stored until they are due, then published by the transaction that deletes them, in the order of their
 * times and, of the same time, of their acceptance. What fell due while no server ran is published at the start.
 *
 * One timer runs to the earliest. It never runs long without a look at the clock, because the clock may have been set:
 * forward, then what is late is published at once; back, then nothing is published before its time.
 */
export class EventSchedule implements Schedule {
  readonly #deps: EventScheduleDeps;
  /** Future events by id of the organization. */
  readonly #counts = new Map<string, number>();
  #next = Number.POSITIVE_INFINITY;
  #timer: Timer | null = null;
  #firing: Promise<void> | null = null;
  #seq = 0;
  #started = false;
  #stopped = false;

  constructor(deps: EventScheduleDeps) {
    this.#deps = deps;
  }

  /** Reads what is stored. Before anything is put. */
  async load(): Promise<void> {
    const { read } = this.#deps.store;
    const rows = await read
      .selectFrom('scheduled_events')
      .select((row) => ['org_id', row.fn.countAll<number>().as('count'), row.fn.max('seq').as('seq')])
      .select((row) => row.fn.min('at').as('at'))
      // Of an organization that was deleted there may still be some.
      .where('org_id', 'in', (from) => from.selectFrom('organizations').select('id'))
      .groupBy('org_id')
      .execute();
    for (const { org_id: orgId, count, seq, at } of rows) {
      this.#counts.set(orgId, Number(count));
      this.#seq = Math.max(this.#seq, Number(seq));
      this.#next = Math.min(this.#next, Number(at));
    }
  }

  /** Begins to publish what is due. */
  start(): void {
    this.#started = true;
    this.#arm();
  }

  /** Waits for what is being published. What is due later is published by the next server. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#firing;
  }

  /** Future events of all organizations. */
  get size(): number {
    let size = 0;
    for (const count of this.#counts.values()) size += count;
    return size;
  }

  async put(event: NewEvent, atMs: number): Promise<string> {
    const { recorder, clock, random, most } = this.#deps;
    const id = Buffer.from(random(16)).toString('hex');
    const { org, source } = event.origin;
    // Before anything is waited for: it is the order in which they were handed in.
    this.#seq += 1;
    const seq = this.#seq;
    const organization = await this.#deps.organization(org);
    if (organization === undefined) throw new MusterError('organization_not_found', { organization: org });
    const { id: orgId } = organization;
    if (this.#count(orgId) >= most) throw new MusterError('too_busy', { what: 'future events', limit: most });
    this.#add(orgId, 1);
    const row = scheduledRow(event, atMs, { id, org_id: orgId, seq, created_at: clock.now() });
    const about = { id, event: row.type, at: new Date(atMs).toISOString(), by: source };
    try {
      await recorder.commit([scheduleWrite(row)], [EVENT_EVENTS.tell('event.scheduled', organization, about, {})]);
    } catch (error) {
      this.#add(orgId, -1);
      throw error;
    }
    this.#next = Math.min(this.#next, atMs);
    this.#arm();
    return id;
  }

  /** In the order in which they will be published. `whose`: only those of that owner. */
  async list(orgId: string, whose: EventOwner | null, limit: number): Promise<readonly ScheduledEvent[]> {
    const all = this.#deps.store.read.selectFrom('scheduled_events').selectAll().where('org_id', '=', orgId);
    const rows = whose === null ? all : all.where('source', '=', whose.source).where('kind', '=', whose.kind);
    return (await rows.orderBy('at').orderBy('seq').limit(limit).execute()).map(scheduledEvent);
  }

  /**
   * `whose`: only if it is of that owner; anybody's when null. `by`: who does it.
   * @throws MusterError `not_found`, also when it was published just now.
   */
  async cancel(
    organization: Organization,
    id: string,
    { whose, by }: { readonly whose: EventOwner | null; readonly by: string },
  ): Promise<ScheduledEvent> {
    const { id: orgId } = organization;
    const row = await this.#deps.recorder.transact(async (trx, record) => {
      const all = trx.deleteFrom('scheduled_events').where('org_id', '=', orgId).where('id', '=', id);
      const own = whose === null ? all : all.where('source', '=', whose.source).where('kind', '=', whose.kind);
      const deleted = await own.returningAll().executeTakeFirst();
      if (deleted === undefined) throw new MusterError('not_found', { kind: 'future event', name: id });
      record([EVENT_EVENTS.tell('event.cancelled', organization, { id, event: deleted.type, by }, {})]);
      return deleted;
    });
    this.#add(orgId, -1);
    return scheduledEvent(row);
  }

  /** The organization was deleted, and what was stored with it. */
  forget(orgId: string): void {
    this.#counts.delete(orgId);
  }

  #count(orgId: string): number {
    return this.#counts.get(orgId) ?? 0;
  }

  #add(orgId: string, change: number): void {
    const count = this.#count(orgId) + change;
    if (count > 0) this.#counts.set(orgId, count);
    else this.#counts.delete(orgId);
  }

  #arm(delayMs = 0): void {
    if (!this.#started || this.#stopped || this.#firing !== null || this.#next === Number.POSITIVE_INFINITY) return;
    this.#timer?.cancel();
    const { clock } = this.#deps;
    const wait = Math.max(this.#next - clock.now(), delayMs);
    this.#timer = clock.after(Math.min(wait, EVENT_LIMITS.timerMs), () => {
      this.#timer = null;
      if (this.#next > clock.now()) this.#arm();
      else this.#fire();
    });
  }

  #fire(): void {
    const due = this.#next;
    // What is accepted from now on may be earlier than what the transaction finds.
    this.#next = Number.POSITIVE_INFINITY;
    this.#firing = this.#publishDue().then(
      (next) => {
        this.#next = Math.min(this.#next, next);
        this.#firing = null;
        this.#arm();
      },
      (error: unknown) => {
        this.#deps.log.warn({ err: error }, 'future events that are due could not be published; trying again');
        this.#next = Math.min(this.#next, due);
        this.#firing = null;
        this.#arm(EVENT_LIMITS.retryMs);
      },
    );
  }

  /** Returns when the next is due. */
  async #publishDue(): Promise<number> {
    const { recorder, clock } = this.#deps;
    const { rows, next } = await recorder.transact(async (trx, record) => {
      const due = await takeDue(trx, clock.now());
      const published = due.filter(({ organization }) => organization !== null);
      record(published.map((row) => ({ orgId: row.org_id, subject: null, event: eventOf(row) })));
      const left = await trx
        .selectFrom('scheduled_events')
        .select((row) => row.fn.min('at').as('at'))
        .executeTakeFirst();
      // Without rows the minimum is null, whatever its type says.
      return { rows: due, next: Number(left?.at ?? Number.POSITIVE_INFINITY) };
    });
    for (const { org_id: orgId } of rows) this.#add(orgId, -1);
    return next;
  }
}

interface DueRow extends ScheduledRow {
  /** Null when it was deleted: its events go without being published, least of all in another one of its name. */
  readonly organization: string | null;
}

async function takeDue(trx: Trx, now: number): Promise<readonly DueRow[]> {
  const due = await trx
    .selectFrom('scheduled_events as e')
    .leftJoin('organizations as o', 'o.id', 'e.org_id')
    .selectAll('e')
    .select('o.id as organization')
    .where('e.at', '<=', now)
    .orderBy('e.at')
    .orderBy('e.seq')
    .limit(EVENT_LIMITS.dueAtOnce)
    .execute();
  if (due.length > 0) {
    await trx
      .deleteFrom('scheduled_events')
      .where(
        'id',
        'in',
        due.map(({ id }) => id),
      )
      .execute();
  }
  return due;
}
