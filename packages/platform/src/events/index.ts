export { StoredCursors } from './cursors.js';
export { EVENT_EVENTS } from './event-types.js';
export { createEventFabric, type EventFabric } from './fabric.js';
export { EventSchedule } from './schedule.js';
