import { type Circumstances, type DeclaredRights, holdsRole, type Identity } from '@muster/platform/auth';

declare module '@muster/platform/auth' {
  interface PermissionTable {
    'job:use': true;
    'job:admin': true;
    'system:session': true;
  }
}

const USERS = 'job_users';
const ADMINS = 'job_admins';

/** Of one job: its owner, those it is shared with, and administrators; the routes see to that (sheet §8.7). */
export const JOB_RIGHTS: DeclaredRights = {
  roles: [USERS, ADMINS],
  rights: {
    'job:use': {
      holders:
        'members of `job_users` and of `job_admins`, and of `admins` unless these are exclusive; any member of the organization while there is no group `job_users`. ' +
        'What they see are their own jobs and those that are shared with them',
      administration: false,
      allows: (identity: Identity, { groups }: Circumstances) =>
        holdsRole(USERS, identity, groups, true) || holdsRole(ADMINS, identity, groups, false),
    },
    'job:admin': {
      holders: 'members of `job_admins`, and of `admins` unless that group is exclusive',
      administration: false,
      allows: (identity: Identity, { groups }: Circumstances) => holdsRole(ADMINS, identity, groups, false),
    },
    'system:session': {
      holders: 'the node that the route names',
      subject: 'node',
      administration: false,
      allows: (identity, { subject }) => identity.type === 'node' && identity.name === subject,
    },
  },
};
