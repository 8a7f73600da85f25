import type { DeclaredRights } from '@muster/platform/auth';

declare module '@muster/platform/auth' {
  interface PermissionTable {
    'rule:use': true;
  }
}

/** What somebody may see and do of a rule depends on what it starts: see `access.ts`. */
export const RULE_RIGHTS: DeclaredRights = {
  roles: [],
  rights: {
    'rule:use': {
      holders:
        'any member of the organization. A rule is made by who may start what it starts (`runbook:run`, `queue:write`, `job:use`), seen by its owner and by who may look at that (`runbook:read`, `queue:read`, `job:admin`), and changed and deleted by its owner, and by `admins`',
      administration: false,
      allows: () => true,
    },
  },
};
