export {
  type FeedKind,
  feedEvent,
  idOf,
  newestEntry,
  readFeedEntry,
  subjectOf,
} from './feed-kind.js';
export { Feeds, type FeedsDeps } from './feeds.js';
export { LogFeed, positionOf } from './log-feed.js';
export { type FeedEvent, type ShowFeedDeps, showFeed } from './show.js';
export { formatMicros } from './timeline.js';
