export { StoredCursors } from './cursors.js';
export { createEventFabric } from './fabric.js';
export { EventSchedule } from './schedule.js';
