import {
  type Circumstances,
  type DeclaredRights,
  type Identity,
  includes,
  mayRead,
  READERS_HOLD,
} from '@muster/platform/auth';
import { starterOf } from './repository/reads.js';
import { runnersOfJob } from './runbooks/access.js';
import { mayWrite, WRITERS } from './writers.js';

declare module '@muster/platform/auth' {
  interface PermissionTable {
    'push:read': true;
    'push:jobs': true;
    'push:job': true;
    'push:write': true;
    'push:execute': true;
    'push:file': true;
  }
}

const mayExecute = (identity: Identity, about: Circumstances) =>
  mayWrite(identity, about) || about.nodeGroups.some(({ execute }) => includes(execute, identity, about.groups));

const isAdmitted = (identity: Identity, { admitted, groups }: Circumstances): boolean =>
  admitted !== undefined && includes(admitted, identity, groups);

/** Sheet §7.3, decisions N13 and N14. */
export const PUSH_RIGHTS: DeclaredRights = {
  roles: [WRITERS],
  rights: {
    'push:read': {
      holders: READERS_HOLD,
      administration: false,
      allows: mayRead,
    },
    'push:jobs': {
      holders:
        'any member of the organization: who has `push:read` is shown all push jobs, others those that they started and may look at (`push:job`)',
      administration: false,
      allows: () => true,
    },
    'push:job': {
      holders:
        'who has `push:read` (`push_job_readers`, `admins`); who started the job, and still has `push:execute` or may still run the runbook that it is a run of',
      subject: 'id',
      byNodeGroup: true,
      administration: false,
      ownerOf: starterOf,
      admittedTo: runnersOfJob,
      allows: (identity, about) =>
        mayRead(identity, about) ||
        (identity.principalId === about.owner && (mayExecute(identity, about) || isAdmitted(identity, about))),
    },
    'push:write': {
      holders: 'members of `push_job_writers`, and of `admins` unless that group is exclusive',
      administration: false,
      allows: mayWrite,
    },
    'push:execute': {
      holders: 'who has `push:write` (`push_job_writers`, `admins`), or holds a grant on at least one node group',
      byNodeGroup: true,
      administration: false,
      allows: mayExecute,
    },
    'push:file': {
      holders: 'nodes, of the files of a push job that asks them, and of its secrets once they are told to start it',
      administration: false,
      allows: ({ type }) => type === 'node',
    },
  },
};
