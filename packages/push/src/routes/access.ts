import type { Auth, Identity, Organization } from '@muster/platform/auth';
import type { TargetAccess } from '../request/targets.js';
import type {} from '../rights.js';

/** What push jobs need to know of permissions. */
export interface PushAccess extends TargetAccess {
  /** May the caller start jobs at large, not only on nodes granted to them? */
  mayWrite(caller: Identity, org: Organization): Promise<boolean>;
  /** What somebody is told who may not. */
  forbidden(caller: Identity): Error;
}

export function pushAccess(auth: Pick<Auth, 'authorize' | 'nodeGroups' | 'organizations' | 'rights'>): PushAccess {
  const mayWrite = (caller: Identity, org: Organization) => auth.authorize(caller, org, 'push:write');
  return {
    mayWrite,
    forbidden: (caller) => auth.rights.forbidden(caller.name, 'push:write'),
    nodeGroup: (org, name) => auth.nodeGroups.nodeGroup(org, name),
    denied: async (caller, org, names) => auth.nodeGroups.denied(caller, org, names, await mayWrite(caller, org)),
    present: (org) => auth.organizations.present(org),
  };
}
