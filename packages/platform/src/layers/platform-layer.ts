import { AUDIT_EVENTS, AUTH_EVENTS } from '../auth/event-types.js';
import { PLATFORM_RIGHTS } from '../auth/rights.js';
import { COUNT_ROWS } from '../counts/rows.js';
import { EVENT_EVENTS } from '../events/event-types.js';
import { OUTBOUND_ROWS } from '../outbound/rows.js';
import { platformMigrations } from '../schema/migrations.js';
import { SECRET_ROWS } from '../secrets/rows.js';
import type { LayerDeclaration } from './declaration.js';

export const platformLayer: LayerDeclaration = {
  name: 'platform',
  migrations: platformMigrations,
  rights: PLATFORM_RIGHTS,
  events: [EVENT_EVENTS, AUDIT_EVENTS, AUTH_EVENTS],
  organizationRows: [OUTBOUND_ROWS, SECRET_ROWS, COUNT_ROWS],
};
