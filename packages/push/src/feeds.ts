import { Feeds, type FeedsDeps } from '@muster/platform/feeds';
import { PUSH_FEED, type PushEventName } from './events.js';
import { findJob } from './repository/reads.js';

export type PushFeeds = Feeds<PushEventName>;

export function createPushFeeds(deps: Omit<FeedsDeps<PushEventName>, 'kind' | 'standingOf'>): PushFeeds {
  return new Feeds({
    ...deps,
    kind: PUSH_FEED,
    standingOf: async (orgId, id) => {
      const job = await findJob(deps.read, orgId, id);
      if (job === undefined) return undefined;
      return job.phase === 'finished' ? 'ended' : 'open';
    },
  });
}
