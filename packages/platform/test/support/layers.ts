import { nodesLayer } from '@muster/nodes';
import { pushLayer } from '@muster/push';
import { tasksLayer } from '@muster/tasks';
import { Rights } from '../../src/auth/rights.js';
import { Followers } from '../../src/events/access.js';
import { platformLayer, together } from '../../src/layers/index.js';

/** Of all layers, as the server has them. */
export const DECLARED = together([platformLayer, nodesLayer, pushLayer, tasksLayer]);
export const RIGHTS = new Rights(DECLARED.rights);
export const FOLLOWERS = new Followers(RIGHTS, DECLARED.families);
