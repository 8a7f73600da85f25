export { EventCounts, type EventCountsDeps } from './event-counts.js';
export { countRoutes } from './routes.js';
