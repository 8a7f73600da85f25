import type { LayerDeclaration } from '@muster/platform/layers';
import { JOB_EVENTS, JOB_QUEUE_EVENTS, RECOVERY_EVENTS, STRAY_EVENTS, WORKER_EVENTS } from './event-types.js';
import { jobMigrations } from './repository/migrations.js';
import { clearJobs, unfinishedJob } from './repository/organization.js';
import { JOB_RIGHTS } from './rights.js';

export const jobsLayer: LayerDeclaration = {
  name: 'jobs',
  migrations: jobMigrations,
  rights: JOB_RIGHTS,
  events: [JOB_EVENTS, JOB_QUEUE_EVENTS, RECOVERY_EVENTS, STRAY_EVENTS, WORKER_EVENTS],
  organizationRows: { inUse: unfinishedJob, clear: clearJobs },
};
