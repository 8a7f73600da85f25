import { type DeclaredRights, mayRead } from '@muster/platform/auth';
import { MusterError } from './errors.js';

declare module '@muster/platform/auth' {
  interface PermissionTable {
    'node:self': true;
  }
}

/** Sheet §7.3. */
export const NODES_RIGHTS: DeclaredRights = {
  roles: [],
  rights: {
    'node:self': {
      holders: 'the node that the route names; users and services who have `node:read` (`push_job_readers`, `admins`)',
      subject: 'node',
      administration: false,
      allows: (identity, about) =>
        identity.type === 'node' ? identity.name === about.subject : mayRead(identity, about),
      refusal: ({ type }) => (type === 'node' ? new MusterError('node_name_mismatch') : undefined),
    },
  },
};
