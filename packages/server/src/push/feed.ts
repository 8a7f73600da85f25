import type { Schema } from '@muster/store';
import type { Clock } from '@muster/wire';
import type { Kysely } from 'kysely';
import { JobFeed } from './job-feed.js';
import { OrgFeed } from './org-feed.js';
import type { FeedPort, PushEvent } from './ports.js';

/** Both feeds behind the one port the controller publishes to, after the commit that holds the event. */
export class PushFeeds implements FeedPort {
  readonly job: JobFeed;
  readonly org: OrgFeed;
  readonly #read: Kysely<Schema>;

  constructor(read: Kysely<Schema>, clock: Clock, retentionSeconds: number) {
    this.#read = read;
    this.job = new JobFeed(read);
    this.org = new OrgFeed(clock, retentionSeconds);
  }

  load(): Promise<void> {
    return this.org.load(this.#read);
  }

  publish(orgId: string, jobId: string, event: PushEvent): void {
    this.job.publish(jobId, event);
    this.org.publish(orgId, jobId, event);
  }

  ended(jobId: string): void {
    this.job.close(jobId);
  }

  /** The server stops: every stream ends. */
  close(): void {
    this.job.closeAll();
    this.org.closeAll();
  }
}
