import { type DeclaredRights, holdsRole } from '@muster/platform/auth';

declare module '@muster/platform/auth' {
  interface PermissionTable {
    'task:read': true;
    'task:write': true;
  }
}

const READERS = 'task_readers';
const WRITERS = 'task_writers';

/** Who may look at queues and tasks, and who may add and change them. */
export const TASK_RIGHTS: DeclaredRights = {
  roles: [READERS, WRITERS],
  rights: {
    'task:read': {
      holders:
        'members of `task_readers`, and of `admins` unless that group is exclusive; any member of the organization while there is no such group',
      administration: false,
      allows: (identity, { groups }) => holdsRole(READERS, identity, groups, true),
    },
    'task:write': {
      holders: 'members of `task_writers`, and of `admins` unless that group is exclusive',
      administration: false,
      allows: (identity, { groups }) => holdsRole(WRITERS, identity, groups, false),
    },
  },
};
