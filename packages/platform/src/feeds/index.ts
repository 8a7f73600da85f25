export {
  type FeedEntry,
  type FeedKind,
  feedEvent,
  idOf,
  newestEntry,
  readFeedEntry,
  subjectOf,
} from './feed-kind.js';
export { Feeds, type FeedsDeps } from './feeds.js';
export { type FeedEvent, showFeed } from './show.js';
export { type Subscription, Topics } from './subscription.js';
export { formatMicros, Timeline } from './timeline.js';
