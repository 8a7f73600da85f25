import type { LayerDeclaration } from '@muster/platform/layers';
import { PUSH_EVENTS } from './event-types.js';
import { OWNER_EVENTS } from './ownership/event-types.js';
import { pushMigrations } from './repository/migrations.js';
import { clearPush, unfinishedPushJob } from './repository/organization.js';
import { openPushSubjects } from './repository/reads.js';
import { PUSH_RIGHTS } from './rights.js';

export const pushLayer: LayerDeclaration = {
  name: 'push',
  migrations: pushMigrations,
  rights: PUSH_RIGHTS,
  events: [PUSH_EVENTS, OWNER_EVENTS],
  organizationRows: { inUse: unfinishedPushJob, clear: clearPush },
  openSubjects: openPushSubjects,
};
