import { type FeedEvent, formatMicros, type Subscription, Timeline, Topics } from '@muster/platform/feeds';
import { readSubject } from '@muster/platform/log';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { readPushEvent, subjectOf } from '../events.js';
import { EVENT_ROWS, MAX_FEED_BACKLOG } from '../limits.js';
import type { PushEvent } from '../ports.js';
import { findJob, lastEvent } from '../repository/reads.js';

const ID = /^job-([1-9]\d{0,14})$/;

/**
 * Feeds of single jobs (sheet §7.10). History is read from the store, what happens meanwhile comes from memory;
 * `seq` joins the two without a gap or a repetition.
 */
export class JobFeed {
  readonly #read: Kysely<Schema>;
  readonly #topics = new Topics<PushEvent>(MAX_FEED_BACKLOG);

  constructor(read: Kysely<Schema>) {
    this.#read = read;
  }

  isRead(jobId: string): boolean {
    return this.#topics.isRead(jobId);
  }

  publish(jobId: string, event: PushEvent): void {
    this.#topics.publish(jobId, event);
    if (event.name === 'job_complete') this.#topics.close(jobId);
  }

  /** The job's live streams end. */
  close(jobId: string): void {
    this.#topics.close(jobId);
  }

  closeAll(): void {
    this.#topics.closeAll();
  }

  get readers(): number {
    return this.#topics.size;
  }

  /**
   * The job's events after `lastEventId` (from the start when it is absent or unknown), then live ones, up to and
   * including `job_complete`. Ends early when `signal` is aborted or the job ends without that event.
   */
  stream(
    orgId: string,
    jobId: string,
    lastEventId: string | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<FeedEvent> {
    const subscription = this.#topics.subscribe(jobId);
    signal.addEventListener('abort', () => this.#topics.unsubscribe(jobId, subscription), { once: true });
    return this.#follow(orgId, jobId, lastEventId, subscription);
  }

  async *#follow(
    orgId: string,
    jobId: string,
    lastEventId: string | undefined,
    subscription: Subscription<PushEvent>,
  ): AsyncGenerator<FeedEvent> {
    try {
      const job = await findJob(this.#read, orgId, jobId);
      if (job === undefined) return;
      // An unknown id means from the start.
      const known = Number(ID.exec(lastEventId ?? '')?.[1] ?? 0);
      const last = await lastEvent(this.#read, jobId);
      const reader = new JobReader(this.#read, jobId, known > last.seq ? 0 : known);
      yield* reader.catchUp();
      // Everything of a job that had finished before was stored before.
      if (reader.done || job.phase === 'finished') return;
      for (;;) {
        const event = await subscription.next();
        if (event === null) return;
        if (event === 'lagged' || event.seq > reader.seen + 1) yield* reader.catchUp();
        if (event !== 'lagged') yield* reader.show(event);
        if (reader.done) return;
      }
    } finally {
      this.#topics.unsubscribe(jobId, subscription);
    }
  }
}

/** Walks a job's events in order, showing those after a given one. */
class JobReader {
  readonly #read: Kysely<Schema>;
  readonly #jobId: string;
  readonly #after: number;
  readonly #timeline = new Timeline();
  /** Position in the log of the last event seen. */
  #position = 0;
  seen = 0;
  done = false;

  constructor(read: Kysely<Schema>, jobId: string, after: number) {
    this.#read = read;
    this.#jobId = jobId;
    this.#after = after;
  }

  /** Everything stored and not seen yet. */
  async *catchUp(): AsyncGenerator<FeedEvent> {
    for (;;) {
      const events = await readSubject(this.#read, subjectOf(this.#jobId), this.#position, EVENT_ROWS);
      if (events.length === 0) return;
      for (const event of events) yield* this.show(readPushEvent(event));
    }
  }

  *show(event: PushEvent): Generator<FeedEvent> {
    if (event.seq <= this.seen) return;
    this.seen = event.seq;
    this.#position = event.position;
    const timestamp = formatMicros(this.#timeline.next(event.at));
    this.done = event.name === 'job_complete';
    if (event.seq <= this.#after) return;
    yield { event: event.name, id: `job-${event.seq}`, data: { timestamp, ...event.data } };
  }
}
