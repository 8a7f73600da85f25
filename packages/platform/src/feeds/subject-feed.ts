import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { readSubject } from '../log/index.js';
import { type FeedEntry, type FeedKind, newestEntry, readFeedEntry, subjectOf } from './feed-kind.js';
import { FEED_LIMITS } from './limits.js';
import type { FeedEvent } from './show.js';
import { type Subscription, Topics } from './subscription.js';
import { formatMicros, Timeline } from './timeline.js';

/**
 * Whether the organization has a thing with this id, undefined when not, and whether anything may still happen to it: of
 * one that has ended, every event is stored.
 */
export type FindStanding = (orgId: string, id: string) => Promise<'open' | 'ended' | undefined>;

export interface SubjectFeedDeps<Name extends string> {
  readonly kind: FeedKind<Name>;
  readonly standingOf: FindStanding;
  readonly read: Kysely<Schema>;
}

/**
 * Feeds of single things, such as push jobs (sheet §7.10). History is read from the log, what happens meanwhile comes
 * from memory; `seq` joins the two without a gap or a repetition.
 */
export class SubjectFeed<Name extends string> {
  readonly #deps: SubjectFeedDeps<Name>;
  readonly #topics = new Topics<FeedEntry<Name>>(FEED_LIMITS.backlog);

  constructor(deps: SubjectFeedDeps<Name>) {
    this.#deps = deps;
  }

  isRead(id: string): boolean {
    return this.#topics.isRead(id);
  }

  publish(id: string, entry: FeedEntry<Name>): void {
    this.#topics.publish(id, entry);
    if (entry.name === this.#deps.kind.last) this.#topics.close(id);
  }

  /** The live streams of one feed end. */
  close(id: string): void {
    this.#topics.close(id);
  }

  closeAll(): void {
    this.#topics.closeAll();
  }

  get readers(): number {
    return this.#topics.size;
  }

  /**
   * The events after `lastEventId` (from the start when it is absent or unknown), then live ones, up to and including
   * the last one of the kind. Ends early when `signal` is aborted or the thing ends without that event.
   */
  stream(orgId: string, id: string, lastEventId: string | undefined, signal: AbortSignal): AsyncGenerator<FeedEvent> {
    const subscription = this.#topics.subscribe(id);
    signal.addEventListener('abort', () => this.#topics.unsubscribe(id, subscription), { once: true });
    return this.#follow(orgId, id, lastEventId, subscription);
  }

  async *#follow(
    orgId: string,
    id: string,
    lastEventId: string | undefined,
    subscription: Subscription<FeedEntry<Name>>,
  ): AsyncGenerator<FeedEvent> {
    const { kind, read, standingOf } = this.#deps;
    try {
      const standing = await standingOf(orgId, id);
      if (standing === undefined) return;
      const known = seqOf(kind, lastEventId);
      const newest = await newestEntry(read, kind, id);
      const reader = new FeedReader(this.#deps, id, known > newest.seq ? 0 : known);
      yield* reader.catchUp();
      if (reader.done || standing === 'ended') return;
      for (;;) {
        const entry = await subscription.next();
        if (entry === null) return;
        if (entry === 'lagged' || entry.seq > reader.seen + 1) yield* reader.catchUp();
        if (entry !== 'lagged') yield* reader.show(entry);
        if (reader.done) return;
      }
    } finally {
      this.#topics.unsubscribe(id, subscription);
    }
  }
}

const NUMBER = /^[1-9]\d{0,14}$/;

/** The number of the event with this id; 0 when there can be none. */
function seqOf(kind: FeedKind, eventId: string | undefined): number {
  const beginning = `${kind.noun}-`;
  if (!eventId?.startsWith(beginning)) return 0;
  const number = eventId.slice(beginning.length);
  return NUMBER.test(number) ? Number(number) : 0;
}

/** Walks the events of one feed in order, showing those after a given one. */
class FeedReader<Name extends string> {
  readonly #deps: SubjectFeedDeps<Name>;
  readonly #id: string;
  readonly #after: number;
  readonly #timeline = new Timeline();
  /** Position in the log of the last event seen. */
  #position = 0;
  seen = 0;
  done = false;

  constructor(deps: SubjectFeedDeps<Name>, id: string, after: number) {
    this.#deps = deps;
    this.#id = id;
    this.#after = after;
  }

  /** Everything stored and not seen yet. */
  async *catchUp(): AsyncGenerator<FeedEvent> {
    const { kind, read } = this.#deps;
    const subject = subjectOf(kind, this.#id);
    for (;;) {
      const events = await readSubject(read, subject, this.#position, FEED_LIMITS.rows);
      if (events.length === 0) return;
      for (const event of events) yield* this.show(readFeedEntry(kind, event));
    }
  }

  *show({ seq, position, at, name, data }: FeedEntry<Name>): Generator<FeedEvent> {
    const { kind } = this.#deps;
    if (seq <= this.seen) return;
    this.seen = seq;
    this.#position = position;
    const timestamp = formatMicros(this.#timeline.next(at));
    this.done = name === kind.last;
    if (seq <= this.#after) return;
    yield { event: name, id: `${kind.noun}-${seq}`, data: { timestamp, ...data } };
  }
}
