import { brokerMigrations } from '@muster/broker';
import { LAYERS } from '../../../server/src/layers.js';
import { Rights } from '../../src/auth/rights.js';
import { Followers } from '../../src/events/access.js';
import { together } from '../../src/layers/index.js';

const declared = together(LAYERS);

/** Of all layers, as the server has them. */
export const DECLARED = { ...declared, migrations: [brokerMigrations, ...declared.migrations] };
export const RIGHTS = new Rights(DECLARED.rights);
export const FOLLOWERS = new Followers(RIGHTS, DECLARED.families);
