import type { LayerDeclaration } from '@muster/platform/layers';
import { APPROVAL_EVENTS } from './approvals/event-types.js';
import { APPROVAL_RIGHTS } from './approvals/rights.js';
import { COMMAND_EVENTS } from './commands/event-types.js';
import { PUSH_EVENTS } from './event-types.js';
import { OWNER_EVENTS } from './ownership/event-types.js';
import { pushMigrations } from './repository/migrations.js';
import { clearPush, unfinishedPushJob } from './repository/organization.js';
import { openPushSubjects } from './repository/reads.js';
import { PUSH_RIGHTS } from './rights.js';
import { RUNBOOK_EVENTS } from './runbooks/event-types.js';
import { RUNBOOK_RIGHTS } from './runbooks/rights.js';

export const pushLayer: LayerDeclaration = {
  name: 'push',
  migrations: pushMigrations,
  rights: { ...PUSH_RIGHTS, rights: { ...PUSH_RIGHTS.rights, ...RUNBOOK_RIGHTS, ...APPROVAL_RIGHTS } },
  events: [PUSH_EVENTS, OWNER_EVENTS, COMMAND_EVENTS, RUNBOOK_EVENTS, APPROVAL_EVENTS],
  organizationRows: { inUse: unfinishedPushJob, clear: clearPush },
  openSubjects: openPushSubjects,
};
