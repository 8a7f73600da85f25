import type { LayerDeclaration } from '@muster/platform/layers';
import { PUSH_EVENTS } from './event-types.js';
import { pushMigrations } from './repository/migrations.js';
import { clearPushJobs, unfinishedPushJob } from './repository/organization.js';
import { openPushSubjects } from './repository/reads.js';
import { PUSH_RIGHTS } from './rights.js';

export const pushLayer: LayerDeclaration = {
  name: 'push',
  migrations: pushMigrations,
  rights: PUSH_RIGHTS,
  events: [PUSH_EVENTS],
  organizationRows: { inUse: unfinishedPushJob, clear: clearPushJobs },
  openSubjects: openPushSubjects,
};
