import type { Clock } from '@muster/base';
import { type FeedEvent, formatMicros, type Subscription, Timeline, Topics } from '@muster/platform/feeds';
import { subjectsSince } from '@muster/platform/log';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { feedEventName, jobOfSubject, readPushEvent, SUBJECT } from '../events.js';
import { MAX_FEED_BACKLOG, MAX_ORG_EVENTS } from '../limits.js';
import type { PushEvent, PushEventName } from '../ports.js';

interface Entry {
  /** In the event log. */
  readonly position: number;
  readonly at: number;
  readonly shown: FeedEvent;
}

/** The recent events of one organization. */
interface History {
  /** Position of the newest event. */
  last: number;
  entries: Entry[];
  readonly timeline: Timeline;
}

/**
 * The feed of an organization: `start` and `job_complete` of all its jobs, kept for a while (sheet §7.10).
 * Never ends by itself.
 */
export class OrgFeed {
  readonly #clock: Clock;
  readonly #retentionMs: number;
  readonly #histories = new Map<string, History>();
  readonly #topics = new Topics<Entry>(MAX_FEED_BACKLOG);

  constructor(clock: Clock, retentionSeconds: number) {
    this.#clock = clock;
    this.#retentionMs = retentionSeconds * 1000;
  }

  /** Goes on where an earlier process stopped, so that readers that reconnect miss nothing. Before any `publish`. */
  async load(read: Kysely<Schema>): Promise<void> {
    for (const event of await subjectsSince(read, SUBJECT, this.#clock.now() - this.#retentionMs)) {
      const jobId = jobOfSubject(event.subject);
      if (jobId === null || !this.shows(feedEventName(event.event))) continue;
      this.publish(event.orgId, jobId, readPushEvent(event));
    }
  }

  shows(name: PushEventName): boolean {
    return name === 'start' || name === 'job_complete';
  }

  publish(orgId: string, jobId: string, event: PushEvent): void {
    const history = this.#history(orgId);
    // It came while the history was read.
    if (event.position <= history.last) return;
    this.#expire(history);
    history.last = event.position;
    const timestamp = formatMicros(history.timeline.next(event.at));
    const entry: Entry = {
      position: event.position,
      at: event.at,
      shown: { event: event.name, id: `org-${event.position}`, data: { timestamp, ...event.data, job: jobId } },
    };
    history.entries.push(entry);
    if (history.entries.length > MAX_ORG_EVENTS) history.entries.shift();
    this.#topics.publish(orgId, entry);
  }

  closeAll(): void {
    this.#topics.closeAll();
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
    subscription: Subscription<Entry>,
    past: readonly Pick<Entry, 'shown'>[],
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

  #since(history: History, id: string): Pick<Entry, 'shown'>[] {
    this.#expire(history);
    const at = history.entries.findIndex((entry) => entry.shown.id === id);
    if (at >= 0) return history.entries.slice(at + 1);
    const timestamp = formatMicros((this.#clock.now() - this.#retentionMs) * 1000);
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
    const oldest = this.#clock.now() - this.#retentionMs;
    const keep = history.entries.findIndex((entry) => entry.at > oldest);
    history.entries = keep < 0 ? [] : history.entries.slice(keep);
  }
}
