import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import {
  type EventContent,
  type EventSchemas,
  type FeedContent,
  newestOfSubject,
  type OwnEvents,
  type Recordable,
  readOwnEvent,
  typeOfOwn,
} from '../log/index.js';
import type { Organization } from '../log/types.js';

/**
 * What a layer declares of the feeds of its things, such as push jobs: how the events of one are found in the log, and
 * how they are shown. `Name`: the types of these events, without what all of them begin with.
 */
export interface FeedKind<Name extends string = string> {
  /** What its subjects begin with: those of push jobs are `push/ID`. No other layer has the same. */
  readonly subjects: string;
  /** Of which its events are: their types begin alike, such as with `push.` */
  readonly family: Pick<OwnEvents<EventSchemas>, 'prefix' | 'record'>;
  /** What the thing is called: in its events the attribute with its id, in feeds the ids of its events, `job-1`. */
  readonly noun: string;
  /** The event that ends a feed. */
  readonly last: Name;
  /** The events that the feed of the organization shows. */
  readonly listed: readonly Name[];
}

/** An event of a feed. */
export interface FeedEntry<Name extends string = string> {
  /** In the event log. */
  readonly position: number;
  /** Counts the events of one subject from 1 without gaps. */
  readonly seq: number;
  readonly name: Name;
  /** Milliseconds since the epoch; never before that of the entry with the previous `seq`. */
  readonly at: number;
  /** What the feed shows besides the time. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** The subject of the thing with this id. */
export function subjectOf(kind: FeedKind, id: string): string {
  return kind.subjects + id;
}

/** The id of the thing that this subject is; null: it is none of this kind. */
export function idOf(kind: FeedKind, subject: string | null): string | null {
  return subject?.startsWith(kind.subjects) ? subject.slice(kind.subjects.length) : null;
}

/** An event for the feed of `id`. `attributes`: what it is selected by, besides the id and its number. */
export function feedEvent<Name extends string>(
  kind: FeedKind<Name>,
  { org, id }: { readonly org: Organization; readonly id: string },
  { seq, name, data }: Pick<FeedEntry<Name>, 'seq' | 'name' | 'data'>,
  attributes: Readonly<Record<string, unknown>>,
): Recordable {
  const about = { [kind.noun]: id, seq, ...attributes };
  return kind.family.record(kind.family.prefix + name, org, about, data, subjectOf(kind, id));
}

/** The name of an event of a feed, without reading the rest of it. */
export function nameOfEntry<Name extends string>(kind: FeedKind<Name>, event: EventContent): Name {
  return typeOfOwn(event).slice(kind.family.prefix.length) as Name;
}

/** What `feedEvent` made, with its place in the log. */
export function readFeedEntry<Name extends string>(
  kind: FeedKind<Name>,
  { position, at, event }: FeedContent,
): FeedEntry<Name> {
  const { type, attributes, data } = readOwnEvent(event);
  const name = type.slice(kind.family.prefix.length) as Name;
  return { position, seq: Number(attributes.seq), name, at, data: data as FeedEntry['data'] };
}

/** Number and time of the newest event of `id`. */
export async function newestEntry(
  read: Kysely<Schema>,
  kind: FeedKind,
  id: string,
): Promise<Pick<FeedEntry, 'seq' | 'at'>> {
  const newest = await newestOfSubject(read, subjectOf(kind, id));
  return newest === undefined ? { seq: 0, at: 0 } : readFeedEntry(kind, newest);
}
