import { type ShowFeedDeps, showFeed } from '@muster/platform/feeds';
import type { App } from '@muster/platform/http';
import { MusterError } from '../errors.js';
import type { Job } from '../types.js';
import { addJobRoute, type Call, type JobRouteDeps } from './deps.js';
import type { JobFeeds } from './feeds.js';
import { EventStreamAnswer } from './schemas.js';

export interface FeedRoutesDeps extends JobRouteDeps, ShowFeedDeps {
  readonly feeds: JobFeeds;
}

/** What happens to a job, as server-sent events. */
export function feedRoutes(app: App, deps: FeedRoutesDeps): void {
  addJobRoute(app, deps, {
    method: 'GET',
    path: '/:id/feed',
    operationId: 'followJob',
    summary: 'How a job stands, now and after each change, as server-sent events',
    description:
      'Each event is `job` with `status`, `message` and `timestamp`. Ends when the job has ended, or the reader may not see it ' +
      'any more. `Last-Event-ID` goes on after an event.',
    result: EventStreamAnswer,
    async handle(call) {
      call.query.refuseConditions();
      const { uuid } = (await call.job('read', 'follow')).job;
      showFeed(call.reply, deps, (lastEventId, signal) =>
        deps.feeds.ofJob(uuid, lastEventId, signal, () => stillSeen(call)),
      );
      return undefined;
    },
  });
}

/** It may be hidden, or shared no longer. */
async function stillSeen(call: Call): Promise<Job | null> {
  try {
    return (await call.job('read', 'follow')).job;
  } catch (error) {
    if (error instanceof MusterError && (error.code === 'job_forbidden' || error.code === 'job_not_found')) return null;
    throw error;
  }
}
