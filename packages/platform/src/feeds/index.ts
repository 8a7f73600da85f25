export { type FeedEvent, lastEventId, showFeed } from './show.js';
export { type Subscription, Topics } from './subscription.js';
export { formatMicros, Timeline } from './timeline.js';
