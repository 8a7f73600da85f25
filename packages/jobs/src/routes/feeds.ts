import { type FeedEvent, formatMicros, LogFeed, positionOf } from '@muster/platform/feeds';
import type { Base } from '@muster/platform/layers';
import { type FeedContent, newestOfSubject, readOwnEvent } from '@muster/platform/log';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { isTerminal, type Status, statusText } from '../status.js';
import type { Job } from '../types.js';

/** What is told of jobs, one by one, as the event log has it. */
export class JobFeeds {
  readonly #read: Kysely<Schema>;
  readonly #log: LogFeed;

  constructor({ store, recorder }: Pick<Base, 'recorder' | 'store'>) {
    this.#read = store.read;
    this.#log = new LogFeed({ read: store.read, recorder });
  }

  /**
   * How a job stands, first at once and then after each change, until it has ended. After `lastEventId` only what followed it.
   * @param look Reads it again; null: the reader may not see it any more.
   */
  async *ofJob(
    uuid: string,
    lastEventId: string | undefined,
    signal: AbortSignal,
    look: () => Promise<Job | null>,
  ): AsyncGenerator<FeedEvent> {
    const subject = `job/${uuid}`;
    const newest = await newestOfSubject(this.#read, subject);
    const after = positionOf(lastEventId) ?? (newest === undefined ? undefined : newest.position - 1);
    const changes = this.#log.stream(subject, after, signal);
    try {
      // Its events may be older than what the log keeps.
      if (newest === undefined) {
        const job = await look();
        if (job === null) return;
        yield { event: 'job', id: '0', data: told(job.lastUpdated, job.status, job.lastMessage) };
        if (isTerminal(job.status)) return;
      } else if (after !== undefined && after >= newest.position && isTerminal(statusOf(newest))) return;
      for await (const change of changes) {
        if ((await look()) === null) return;
        yield shown(change);
        if (isTerminal(statusOf(change))) return;
      }
    } finally {
      await changes.return(undefined);
    }
  }
}

function statusOf({ event }: FeedContent): Status {
  return readOwnEvent(event).attributes.status as Status;
}

function shown(content: FeedContent): FeedEvent {
  const { message } = readOwnEvent(content.event).data as { readonly message: string };
  return { event: 'job', id: String(content.position), data: told(content.at, statusOf(content), message) };
}

function told(at: number, status: Status, message: string): FeedEvent['data'] {
  return { timestamp: formatMicros(at * 1000), status, message: statusText(status, message) };
}
