import {
  type Circumstances,
  type DeclaredRights,
  type Identity,
  includes,
  mayRead,
  READERS_HOLD,
} from '@muster/platform/auth';
import { authorOf, runnersOf } from './access.js';

declare module '@muster/platform/auth' {
  interface PermissionTable {
    'runbook:read': true;
    'runbook:run': true;
  }
}

const RUNNERS_HOLD = 'those whom the runbook names as its `runners`; who made or last changed it';

const mayRun = (identity: Identity, { owner, admitted, groups }: Circumstances): boolean =>
  identity.principalId === owner || (admitted !== undefined && includes(admitted, identity, groups));

/** A runbook gives the right to run it, and with it none to other commands. */
export const RUNBOOK_RIGHTS: DeclaredRights['rights'] = {
  'runbook:read': {
    holders: `${READERS_HOLD}; ${RUNNERS_HOLD}`,
    subject: 'runbook',
    administration: false,
    ownerOf: authorOf,
    admittedTo: runnersOf,
    allows: (identity, about) => mayRead(identity, about) || mayRun(identity, about),
  },
  'runbook:run': {
    holders: RUNNERS_HOLD,
    subject: 'runbook',
    administration: false,
    ownerOf: authorOf,
    admittedTo: runnersOf,
    allows: mayRun,
  },
};
