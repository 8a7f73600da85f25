import { type NewEvent, type Origin, originOf, type PageLimit } from '@muster/fabric';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { type ChunkEvent, type EventContent, type EventFrames, readEvents } from './event-chunk.js';

type Read = Kysely<Schema>;

/** Rows of the log looked at for one page. */
const ROWS = 256;

/** An event as the log has it. */
export interface ReadEvent {
  readonly position: number;
  readonly at: number;
  readonly event: NewEvent;
}

/** An event of a feed. */
export interface FeedContent {
  readonly position: number;
  readonly at: number;
  readonly event: EventContent;
}

export interface ReadPage {
  readonly events: readonly ReadEvent[];
  /** All events of the organization up to here, and none after it, are in this page or were before it. */
  readonly through: number;
}

interface Range {
  /** Both positions: beyond the first, up to the second. */
  readonly after: number;
  readonly upTo: number;
}

/**
 * Events of one organization in the order of their positions: at least one if there is one, then as many as the limit
 * allows, roughly.
 *
 * Rows of one transaction overlap: what follows an event is certain only when no row that begins before it is unread.
 */
export async function readPage(
  read: Read,
  org: { readonly id: string; readonly name: string },
  range: Range,
  limit: PageLimit,
): Promise<ReadPage> {
  const { after, upTo } = range;
  const origins = new Origins(org.name);
  const found: ReadEvent[] = [];
  let beyond = await endedBefore(read, after);
  for (;;) {
    const heads = await headsBeyond(read, org.id, beyond, range);
    const taken = heads.slice(0, countWithin(heads, limit.bytes));
    for (const row of await framesOf(read, taken)) {
      // No more of one row can be among the first so many of all.
      const parts = readEvents(row, after, limit.events);
      found.push(...origins.events(parts).filter(({ position }) => position <= upTo));
    }
    const last = taken.at(-1)?.first ?? 0;
    const next = heads[taken.length]?.first;
    const certain = next !== undefined ? next - 1 : heads.length < ROWS ? upTo : last;
    const events = found.filter(({ position }) => position <= certain).sort((a, b) => a.position - b.position);
    const through = events[limit.events - 1]?.position ?? certain;
    if (events.length > 0 || certain === upTo) return { events: events.slice(0, limit.events), through };
    beyond = last;
  }
}

/** An event of any organization. */
export interface AnyEvent extends ReadEvent {
  readonly orgId: string;
  readonly subject: string | null;
}

/**
 * Events of all organizations beyond a position at which a transaction ended, in order: those of whole transactions, so that
 * none is missing up to `through`.
 * @param nameOf Null: the organization is gone, and with it what was told of it.
 */
export async function readBeyond(
  read: Read,
  beyond: number,
  nameOf: (orgId: string) => Promise<string | null>,
): Promise<{ readonly events: readonly AnyEvent[]; readonly through: number }> {
  const query = read
    .selectFrom('event_log')
    .select(['first', 'last', 'floor', 'org_id', 'subject', 'frames'])
    .where('first', '>', beyond)
    .orderBy('first');
  let rows = await query.limit(ROWS).execute();
  const newest = rows.at(-1)?.floor ?? 0;
  if (rows.length === ROWS) {
    const whole = rows.filter(({ floor }) => floor < newest);
    rows = whole.length > 0 ? whole : await query.where('floor', '=', newest).execute();
  }
  const events: AnyEvent[] = [];
  let through = beyond;
  for (const row of rows) {
    const { org_id: orgId, subject } = row;
    through = Math.max(through, row.last);
    const name = await nameOf(orgId);
    if (name === null) continue;
    for (const event of new Origins(name).events(readEvents(row))) events.push({ orgId, subject, ...event });
  }
  return { events: events.sort((a, b) => a.position - b.position), through };
}

/** The end of the last transaction that stored nothing beyond this position. */
export async function endedBefore(read: Read, position: number): Promise<number> {
  return (await beginOf(read, position + 1)) - 1;
}

/** Where the transaction that this position fell into begins: rows of earlier ones end before. */
async function beginOf(read: Read, position: number): Promise<number> {
  const row = await read
    .selectFrom('event_log')
    .select('floor')
    .where('first', '<=', position)
    .orderBy('first', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.floor ?? 0;
}

interface RowHead {
  readonly first: number;
  readonly bytes: number;
}

function headsBeyond(read: Read, orgId: string, beyond: number, { after, upTo }: Range): Promise<RowHead[]> {
  return read
    .selectFrom('event_log')
    .select(['first', 'bytes'])
    .where('org_id', '=', orgId)
    .where('first', '>', beyond)
    .where('first', '<=', upTo)
    .where('last', '>', after)
    .orderBy('first')
    .limit(ROWS)
    .execute();
}

/** One at least. */
function countWithin(heads: readonly RowHead[], bytes: number): number {
  let count = 0;
  for (let size = 0; count < heads.length && (count === 0 || size < bytes); count++) size += heads[count]?.bytes ?? 0;
  return count;
}

async function framesOf(read: Read, heads: readonly RowHead[]): Promise<EventFrames[]> {
  if (heads.length === 0) return [];
  const firsts = heads.map(({ first }) => first);
  return read.selectFrom('event_log').select(['floor', 'frames']).where('first', 'in', firsts).execute();
}

/** Events that a feed shows, in order: rows of one subject never overlap. At least one if there is one after `after`. */
export async function readSubject(
  read: Read,
  subject: string,
  after: number,
  rowLimit: number,
): Promise<FeedContent[]> {
  const rows = await read
    .selectFrom('event_log')
    .select(['floor', 'frames'])
    .where('subject', '=', subject)
    .where('last', '>', after)
    .orderBy('first')
    .limit(rowLimit)
    .execute();
  return rows.flatMap(contentsOf).filter((event) => event.position > after);
}

/** The newest event of a feed. */
export async function newestOfSubject(read: Read, subject: string): Promise<FeedContent | undefined> {
  const row = await read
    .selectFrom('event_log')
    .select(['floor', 'frames'])
    .where('subject', '=', subject)
    .orderBy('first', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? undefined : contentsOf(row).at(-1);
}

export interface SubjectEvent extends FeedContent {
  readonly orgId: string;
  readonly subject: string;
}

/** Events since `since` of all feeds whose subjects begin with `prefix`, in order. */
export async function subjectsSince(read: Read, prefix: string, since: number): Promise<SubjectEvent[]> {
  const rows = await read
    .selectFrom('event_log')
    .select(['org_id', 'subject', 'floor', 'frames'])
    .where('at_last', '>', since)
    .where('subject', 'is not', null)
    .execute();
  const events: SubjectEvent[] = [];
  for (const row of rows) {
    const { org_id: orgId, subject } = row;
    if (!subject?.startsWith(prefix)) continue;
    for (const event of contentsOf(row)) if (event.at > since) events.push({ orgId, subject, ...event });
  }
  return events.sort((a, b) => a.position - b.position);
}

/** The greatest position before all events that are as new as this; null when there are none. */
export async function positionBefore(read: Read, atMs: number): Promise<number | null> {
  // Times need not grow with positions: the clock may have been set back.
  const { first } = await read
    .selectFrom('event_log')
    .select((row) => row.fn.min<number | null>('first').as('first'))
    .where('at_last', '>=', atMs)
    .executeTakeFirstOrThrow();
  if (first === null) return null;
  const transaction = await beginOf(read, first);
  const next = await read
    .selectFrom('event_log')
    .select('first')
    .where('first', '>', first)
    .where('floor', '>', transaction)
    .orderBy('first')
    .limit(1)
    .executeTakeFirst();
  let rows = read
    .selectFrom('event_log')
    .select(['floor', 'frames'])
    .where('first', '>=', first)
    .where('at_last', '>=', atMs);
  if (next !== undefined) rows = rows.where('first', '<', next.first);
  const positions = (await rows.execute())
    .flatMap((row) => readEvents(row))
    .filter(({ at }) => at >= atMs)
    .map(({ position }) => position);
  return positions.reduce((least, position) => Math.min(least, position)) - 1;
}

/** The events of a row, as feeds need them. */
export function contentsOf(row: EventFrames): FeedContent[] {
  return readEvents(row).map((event) => ({ position: event.position, at: event.at, event }));
}

/** Few publish many events. */
class Origins {
  readonly #org: string;
  readonly #known = new Map<string, Origin>();

  constructor(org: string) {
    this.#org = org;
  }

  events(parts: readonly ChunkEvent[]): ReadEvent[] {
    return parts.map((part) => this.#event(part));
  }

  #event(part: ChunkEvent): ReadEvent {
    const { bytes, linesStart, linesEnd, bodyStart, bodyEnd, tailEnd } = part;
    const key = `${part.kind} ${part.source}`;
    let origin = this.#known.get(key);
    if (origin === undefined) {
      origin = originOf(this.#org, part.source, part.kind);
      this.#known.set(key, origin);
    }
    return {
      position: part.position,
      at: part.at,
      event: { origin, bytes, linesStart, linesEnd, bodyStart, bodyEnd, tailEnd },
    };
  }
}
