// What the package adds to the types of those below it: tables and permissions.
import './bulk/tables.js';
import './calendars/tables.js';
import './repository/tables.js';
import './rights.js';
import './schedules/rights.js';
import './schedules/tables.js';

export { type Bulk, createBulk } from './bulk/layer.js';
export { type Blackout, blackoutText } from './calendars/blackout.js';
export { Calendars } from './calendars/calendars.js';
export { CALENDAR_LIMITS } from './calendars/limits.js';
export { readHeeded } from './calendars/request.js';
export { tasksLayer } from './declaration.js';
export { createTasks, type Tasks } from './layer.js';
export type { TaskAction } from './ports.js';
export { readNewTask } from './request/new-task.js';
export { createSchedules, type Schedules } from './schedules/layer.js';
export { NO_SECRETS, placeOf, taskSecrets } from './secrets/use.js';
export { standingsOf, type TaskStanding } from './standing.js';
