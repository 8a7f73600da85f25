import type { DeclaredRights } from '@muster/platform/auth';

declare module '@muster/platform/auth' {
  interface PermissionTable {
    'schedule:use': true;
  }
}

/** What somebody may see and do of a schedule depends on what it runs: see `access.ts`. */
export const SCHEDULE_RIGHTS: DeclaredRights['rights'] = {
  'schedule:use': {
    holders:
      'any member of the organization. A schedule of a queue is seen by who may read that queue (`queue:read`), and made, changed and run by who may write it (`queue:write`); one of push jobs is seen by who has `push:read`, made by who has `push:execute`, and changed and run by its owner with that right, or by who has `push:write`',
    administration: false,
    allows: () => true,
  },
};
