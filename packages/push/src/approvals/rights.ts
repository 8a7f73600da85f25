import {
  type Circumstances,
  type DeclaredRights,
  holdsRole,
  type Identity,
  includes,
  mayRead,
  READERS_HOLD,
} from '@muster/platform/auth';
import { mayWrite } from '../writers.js';
import { approversOf, askerOf } from './repository.js';

declare module '@muster/platform/auth' {
  interface PermissionTable {
    'approval:read': true;
    'approval:decide': true;
  }
}

/** Where some are named, nobody else: who may start any push job cannot go past them. */
const mayDecide = (identity: Identity, { admitted, groups }: Circumstances): boolean =>
  admitted !== undefined &&
  (includes(admitted, identity, groups) ||
    (admitted.role !== undefined && holdsRole(admitted.role, identity, groups, false)));

const WRITE = 'who has `push:write` (`push_job_writers`, `admins`)';
const NAMED = 'those whom the runbook or the policy names that asks for it';

export const APPROVAL_RIGHTS: DeclaredRights['rights'] = {
  'approval:read': {
    holders: `${READERS_HOLD}; ${WRITE}; ${NAMED}; who asked for it`,
    subject: 'id',
    administration: false,
    ownerOf: askerOf,
    admittedTo: approversOf,
    allows: (identity, about) =>
      mayRead(identity, about) ||
      mayWrite(identity, about) ||
      mayDecide(identity, about) ||
      identity.principalId === about.owner,
  },
  'approval:decide': {
    holders: `${NAMED}, and where it names nobody ${WRITE}; never to grant what they asked for themselves`,
    subject: 'id',
    administration: false,
    admittedTo: approversOf,
    allows: mayDecide,
  },
};
