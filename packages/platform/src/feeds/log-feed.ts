import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { type FeedContent, type Recorder, readSubject, type StoredEvent } from '../log/index.js';
import { FEED_LIMITS } from './limits.js';
import { type Subscription, Topics } from './subscription.js';

export interface LogFeedDeps {
  readonly read: Kysely<Schema>;
  readonly recorder: Pick<Recorder, 'last' | 'onStored'>;
}

/**
 * What is told of subjects as the event log has it, event for event, by its positions: for subjects of which so much is told
 * that nobody wants it from the start.
 */
export class LogFeed {
  readonly #read: Kysely<Schema>;
  readonly #recorder: LogFeedDeps['recorder'];
  readonly #topics = new Topics<FeedContent>(FEED_LIMITS.backlog);
  readonly #stopListening: () => void;

  constructor({ read, recorder }: LogFeedDeps) {
    this.#read = read;
    this.#recorder = recorder;
    this.#stopListening = recorder.onStored((events) => {
      if (this.#topics.size > 0) for (const event of events) this.#publish(event);
    });
  }

  #publish({ subject, position, atMs: at, recorded: event }: StoredEvent): void {
    if (subject !== null) this.#topics.publish(subject, { position, at, event });
  }

  get readers(): number {
    return this.#topics.size;
  }

  /** Every stream ends. */
  close(): void {
    this.#stopListening();
    this.#topics.closeAll();
  }

  /**
   * Without `after` only what happens from now on; else first what the log still has beyond that position. Then live,
   * until `signal` is aborted or the feed is closed.
   */
  stream(subject: string, after: number | undefined, signal: AbortSignal): AsyncGenerator<FeedContent> {
    // Listening begins here, not when the first event is asked for.
    const subscription = this.#topics.subscribe(subject);
    signal.addEventListener('abort', () => this.#topics.unsubscribe(subject, subscription), { once: true });
    return this.#follow(subject, after, this.#recorder.last, subscription);
  }

  async *#follow(
    subject: string,
    after: number | undefined,
    last: number,
    subscription: Subscription<FeedContent>,
  ): AsyncGenerator<FeedContent> {
    let seen = after ?? last;
    const catchUp = async function* (read: Kysely<Schema>): AsyncGenerator<FeedContent> {
      for (;;) {
        const events = await readSubject(read, subject, seen, FEED_LIMITS.rows);
        if (events.length === 0) return;
        for (const event of events) {
          seen = event.position;
          yield event;
        }
      }
    };
    try {
      if (after !== undefined) yield* catchUp(this.#read);
      for (;;) {
        const next = await subscription.next();
        if (next === null) return;
        if (next === 'lagged') yield* catchUp(this.#read);
        else if (next.position > seen) {
          seen = next.position;
          yield next;
        }
      }
    } finally {
      this.#topics.unsubscribe(subject, subscription);
    }
  }
}

const POSITION = /^\d{1,15}$/;

/** The position that a reader wants to go on after; undefined: it names none. */
export function positionOf(lastEventId: string | undefined): number | undefined {
  return lastEventId !== undefined && POSITION.test(lastEventId) ? Number(lastEventId) : undefined;
}
