import type { LayerDeclaration } from '@muster/platform/layers';
import { RULE_EVENTS } from './event-types.js';
import { ruleMigrations } from './migrations.js';
import { RULE_RIGHTS } from './rights.js';
import { RULE_ROWS } from './rows.js';

export const rulesLayer: LayerDeclaration = {
  name: 'rules',
  migrations: ruleMigrations,
  rights: RULE_RIGHTS,
  events: [RULE_EVENTS],
  organizationRows: RULE_ROWS,
};
