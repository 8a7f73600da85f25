import { type Circumstances, type DeclaredRights, holdsRole, type Identity, includes } from '@muster/platform/auth';
import { admittedToQueue, admittedToTask } from './repository/reads.js';

declare module '@muster/platform/auth' {
  interface PermissionTable {
    'task:read': true;
    'task:write': true;
    'task:secrets': true;
    'queue:read': true;
    'queue:write': true;
  }
}

const READERS = 'task_readers';
const WRITERS = 'task_writers';

const READERS_HOLD =
  'members of `task_readers`, and of `admins` unless that group is exclusive; any member of the organization while there is no such group';
const WRITERS_HOLD = 'members of `task_writers`, and of `admins` unless that group is exclusive';

const isAdmitted = (identity: Identity, { admitted, groups }: Circumstances): boolean =>
  admitted !== undefined && includes(admitted, identity, groups);

const mayRead = (identity: Identity, about: Circumstances): boolean =>
  holdsRole(READERS, identity, about.groups, true) || isAdmitted(identity, about);

const mayWrite = (identity: Identity, about: Circumstances): boolean =>
  holdsRole(WRITERS, identity, about.groups, false) || isAdmitted(identity, about);

/**
 * Who may look at queues and tasks, and who may add and change them. A queue admits others to itself and to its tasks:
 * its `readers` and `writers`. What names neither a queue nor a task is for those with the roles alone.
 */
export const TASK_RIGHTS: DeclaredRights = {
  roles: [READERS, WRITERS],
  rights: {
    'task:read': {
      holders: `${READERS_HOLD}; of a task besides the \`readers\` and \`writers\` of its queue`,
      subject: 'id',
      administration: false,
      admittedTo: (read, orgId, task) => admittedToTask(read, orgId, task, 'readers'),
      allows: mayRead,
    },
    'task:write': {
      holders: `${WRITERS_HOLD}; of a task besides the \`writers\` of its queue`,
      subject: 'id',
      administration: false,
      admittedTo: (read, orgId, task) => admittedToTask(read, orgId, task, 'writers'),
      allows: mayWrite,
    },
    'task:secrets': {
      holders: 'nodes, of the tasks that they have',
      administration: false,
      allows: ({ type }) => type === 'node',
    },
    'queue:read': {
      holders: `${READERS_HOLD}; of a queue besides its \`readers\` and \`writers\``,
      subject: 'queue',
      administration: false,
      admittedTo: (read, orgId, queue) => admittedToQueue(read, orgId, queue, 'readers'),
      allows: mayRead,
    },
    'queue:write': {
      holders: `${WRITERS_HOLD}; of a queue besides its \`writers\``,
      subject: 'queue',
      administration: false,
      admittedTo: (read, orgId, queue) => admittedToQueue(read, orgId, queue, 'writers'),
      allows: mayWrite,
    },
  },
};
