import type { Clock } from '@muster/base';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { subjectsSince } from '../log/index.js';
import { type FeedEntry, type FeedKind, idOf, nameOfEntry, readFeedEntry } from './feed-kind.js';
import { FEED_LIMITS } from './limits.js';
import type { FeedEvent } from './show.js';
import { type Subscription, Topics } from './subscription.js';
import { formatMicros, Timeline } from './timeline.js';

interface Kept {
  /** In the event log. */
  readonly position: number;
  readonly at: number;
  readonly shown: FeedEvent;
}

/** The recent events of one organization. */
interface History {
  /** Position of the newest event. */
  last: number;
  entries: Kept[];
  readonly timeline: Timeline;
}

export interface OrganizationFeedDeps<Name extends string> {
  readonly kind: FeedKind<Name>;
  readonly read: Kysely<Schema>;
  readonly clock: Clock;
  readonly retentionSeconds: number;
}

/**
 * The feed of an organization: of all its things of one kind the events that the kind lists, such as their start and
 * their end, kept for a while (sheet §7.10). Never ends by itself.
 */
export class OrganizationFeed<Name extends string> {
  readonly #deps: OrganizationFeedDeps<Name>;
  readonly #retentionMs: number;
  readonly #histories = new Map<string, History>();
  readonly #topics = new Topics<Kept>(FEED_LIMITS.backlog);
  #sweptAt: number;

  constructor(deps: OrganizationFeedDeps<Name>) {
    this.#deps = deps;
    this.#retentionMs = deps.retentionSeconds * 1000;
    this.#sweptAt = deps.clock.monotonic();
  }

  /** Goes on where an earlier process stopped, so that readers that reconnect miss nothing. Before any `publish`. */
  async load(): Promise<void> {
    const { kind, read, clock } = this.#deps;
    for (const event of await subjectsSince(read, kind.subjects, clock.now() - this.#retentionMs)) {
      const id = idOf(kind, event.subject);
      if (id === null || !kind.listed.includes(nameOfEntry(kind, event.event))) continue;
      this.publish(event.orgId, id, readFeedEntry(kind, event));
    }
  }

  publish(orgId: string, id: string, { position, at, name, data }: FeedEntry<Name>): void {
    this.#sweep();
    const history = this.#history(orgId);
    // It came while the history was read.
    if (position <= history.last) return;
    this.#expire(history);
    history.last = position;
    const timestamp = formatMicros(history.timeline.next(at));
    const shown = { event: name, id: `org-${position}`, data: { timestamp, ...data, [this.#deps.kind.noun]: id } };
    const kept: Kept = { position, at, shown };
    history.entries.push(kept);
    if (history.entries.length > FEED_LIMITS.organization) history.entries.shift();
    this.#topics.publish(orgId, kept);
  }

  closeAll(): void {
    this.#topics.closeAll();
  }

  /** Organizations of which something is kept. */
  get size(): number {
    return this.#histories.size;
  }

  get readers(): number {
    return this.#topics.size;
  }

  /**
   * Without `lastEventId` only what happens from now on; after a known id what followed it; an unknown id gives
   * `start_of_history` and everything kept. Then live, until `signal` is aborted or the server stops.
   */
  stream(orgId: string, lastEventId: string | undefined, signal: AbortSignal): AsyncGenerator<FeedEvent> {
    // Listening begins here, not when the first event is asked for.
    const subscription = this.#topics.subscribe(orgId);
    signal.addEventListener('abort', () => this.#topics.unsubscribe(orgId, subscription), { once: true });
    const history = this.#history(orgId);
    const backlog = lastEventId === undefined ? [] : this.#since(history, lastEventId);
    return this.#follow(orgId, subscription, backlog, history.last);
  }

  async *#follow(
    orgId: string,
    subscription: Subscription<Kept>,
    past: readonly Pick<Kept, 'shown'>[],
    last: number,
  ): AsyncGenerator<FeedEvent> {
    const history = this.#history(orgId);
    let seen = last;
    try {
      yield* past.map((entry) => entry.shown);
      for (;;) {
        const next = await subscription.next();
        if (next === null) return;
        if (next === 'lagged') {
          const backlog = this.#since(history, `org-${seen}`);
          seen = history.last;
          yield* backlog.map((entry) => entry.shown);
        } else if (next.position > seen) {
          seen = next.position;
          yield next.shown;
        }
      }
    } finally {
      this.#topics.unsubscribe(orgId, subscription);
    }
  }

  #since(history: History, id: string): Pick<Kept, 'shown'>[] {
    this.#expire(history);
    const at = history.entries.findIndex((entry) => entry.shown.id === id);
    if (at >= 0) return history.entries.slice(at + 1);
    const timestamp = formatMicros((this.#deps.clock.now() - this.#retentionMs) * 1000);
    const start = { shown: { event: 'start_of_history', id: 'start_id', data: { timestamp } } };
    return [start, ...history.entries];
  }

  #history(orgId: string): History {
    let history = this.#histories.get(orgId);
    if (history === undefined) {
      history = { last: 0, entries: [], timeline: new Timeline() };
      this.#histories.set(orgId, history);
    }
    return history;
  }

  #expire(history: History): void {
    const oldest = this.#deps.clock.now() - this.#retentionMs;
    const keep = history.entries.findIndex((entry) => entry.at > oldest);
    if (keep !== 0) history.entries = keep < 0 ? [] : history.entries.slice(keep);
  }

  /** Once in a while also for organizations in which nothing happens any more, or which are gone. */
  #sweep(): void {
    const now = this.#deps.clock.monotonic();
    if (now - this.#sweptAt < this.#retentionMs) return;
    this.#sweptAt = now;
    for (const [orgId, history] of this.#histories) {
      this.#expire(history);
      if (history.entries.length === 0 && !this.#topics.isRead(orgId)) this.#histories.delete(orgId);
    }
  }
}
