import type { LayerDeclaration } from '@muster/platform/layers';
import { NODE_EVENTS } from './event-types.js';
import { nodesMigrations } from './migrations.js';
import { clearNodes } from './repository.js';
import { NODES_RIGHTS } from './rights.js';
import { clearSshNodes } from './ssh-nodes/repository.js';

export const nodesLayer: LayerDeclaration = {
  name: 'nodes',
  migrations: nodesMigrations,
  rights: NODES_RIGHTS,
  events: [NODE_EVENTS],
  organizationRows: [{ clear: clearSshNodes }, { clear: clearNodes }],
};
