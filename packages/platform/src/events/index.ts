export { Followers } from './access.js';
export { checkEventSelector } from './check-selector.js';
export { StoredCursors } from './cursors.js';
export { createEventFabric } from './fabric.js';
export { EventSchedule } from './schedule.js';
export { type Acted, type Chooser, type Chosen, EventWatch } from './watch.js';
