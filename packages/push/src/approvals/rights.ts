import {
  type Circumstances,
  type DeclaredRights,
  holdsRole,
  type Identity,
  includes,
  mayRead,
  READERS_HOLD,
} from '@muster/platform/auth';
import { approversOf, askerOf } from './repository.js';

declare module '@muster/platform/auth' {
  interface PermissionTable {
    'approval:read': true;
    'approval:decide': true;
  }
}

const mayDecide = (identity: Identity, { admitted, groups }: Circumstances): boolean =>
  holdsRole('push_job_writers', identity, groups, false) ||
  (admitted !== undefined && includes(admitted, identity, groups));

const HOLD =
  'who has `push:write` (`push_job_writers`, `admins`); those whom the runbook or the policy names that asks for it';

export const APPROVAL_RIGHTS: DeclaredRights['rights'] = {
  'approval:read': {
    holders: `${READERS_HOLD}; ${HOLD}; who asked for it`,
    subject: 'id',
    administration: false,
    ownerOf: askerOf,
    admittedTo: approversOf,
    allows: (identity, about) =>
      mayRead(identity, about) || mayDecide(identity, about) || identity.principalId === about.owner,
  },
  'approval:decide': {
    holders: `${HOLD}; never to grant what they asked for themselves`,
    subject: 'id',
    administration: false,
    admittedTo: approversOf,
    allows: mayDecide,
  },
};
