import type { LayerDeclaration } from '@muster/platform/layers';
import { QUEUE_EVENTS, TASK_EVENTS } from './event-types.js';
import { taskMigrations } from './repository/migrations.js';
import { activeTask, clearTasks } from './repository/organization.js';
import { TASK_RIGHTS } from './rights.js';
import { SCHEDULE_EVENTS } from './schedules/event-types.js';
import { SCHEDULE_RIGHTS } from './schedules/rights.js';

export const tasksLayer: LayerDeclaration = {
  name: 'tasks',
  migrations: taskMigrations,
  rights: { ...TASK_RIGHTS, rights: { ...TASK_RIGHTS.rights, ...SCHEDULE_RIGHTS } },
  events: [QUEUE_EVENTS, TASK_EVENTS, SCHEDULE_EVENTS],
  organizationRows: { inUse: activeTask, clear: clearTasks },
};
