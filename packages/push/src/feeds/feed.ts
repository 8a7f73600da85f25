import type { Clock } from '@muster/base';
import type { Recorder, StoredEvent } from '@muster/platform/log';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { feedEventName, jobOfSubject, readPushEvent } from '../events.js';
import type { FeedPort } from '../ports.js';
import { JobFeed } from './job-feed.js';
import { OrgFeed } from './org-feed.js';

export interface FeedsDeps {
  readonly read: Kysely<Schema>;
  readonly recorder: Pick<Recorder, 'onStored'>;
  readonly clock: Clock;
  /** How long the feed of an organization keeps its events. */
  readonly retentionSeconds: number;
}

/** Both feeds; they show what is in the event log. */
export class PushFeeds implements FeedPort {
  readonly job: JobFeed;
  readonly org: OrgFeed;
  readonly #read: Kysely<Schema>;
  readonly #stopListening: () => void;

  constructor({ read, recorder, clock, retentionSeconds }: FeedsDeps) {
    this.#read = read;
    this.job = new JobFeed(read);
    this.org = new OrgFeed(clock, retentionSeconds);
    this.#stopListening = recorder.onStored((events) => {
      for (const event of events) {
        const jobId = jobOfSubject(event.subject);
        if (jobId !== null) this.#publish(event.orgId, jobId, event);
      }
    });
  }

  load(): Promise<void> {
    return this.org.load(this.#read);
  }

  /** Most events of most jobs have nobody who reads them. */
  #publish(orgId: string, jobId: string, { position, atMs: at, recorded: event }: StoredEvent): void {
    const shown = this.org.shows(feedEventName(event));
    if (!shown && !this.job.isRead(jobId)) return;
    const told = readPushEvent({ position, at, event });
    this.job.publish(jobId, told);
    if (shown) this.org.publish(orgId, jobId, told);
  }

  ended(jobId: string): void {
    this.job.close(jobId);
  }

  /** The server stops: every stream ends. */
  close(): void {
    this.#stopListening();
    this.job.closeAll();
    this.org.closeAll();
  }
}
