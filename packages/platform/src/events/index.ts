export { StoredCursors } from './cursors.js';
export { createEventFabric, type EventFabric } from './fabric.js';
export { EventSchedule } from './schedule.js';
