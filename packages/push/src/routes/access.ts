import type { Auth, Identity, Organization } from '@muster/platform/auth';
import type { TargetAccess } from '../request/targets.js';
import type {} from '../rights.js';

/** What push jobs need to know of permissions. */
export interface PushAccess extends TargetAccess {
  /** May the caller start jobs at large, not only on nodes granted to them? */
  mayWrite(caller: Identity, org: Organization): Promise<boolean>;
  /** May the caller look at all jobs, not only at some that they started? */
  mayRead(caller: Identity, org: Organization): Promise<boolean>;
  /** May the caller look at this one? */
  mayLookAt(caller: Identity, org: Organization, jobId: string): Promise<boolean>;
  /** What somebody is told who may not. */
  forbidden(caller: Identity, permission: 'push:read' | 'push:write'): Error;
}

export function pushAccess(auth: Pick<Auth, 'authorize' | 'nodeGroups' | 'organizations' | 'rights'>): PushAccess {
  const mayWrite = (caller: Identity, org: Organization) => auth.authorize(caller, org, 'push:write');
  return {
    mayWrite,
    mayRead: (caller, org) => auth.authorize(caller, org, 'push:read'),
    mayLookAt: (caller, org, jobId) => auth.authorize(caller, org, 'push:job', jobId),
    forbidden: (caller, permission) => auth.rights.forbidden(caller.name, permission),
    nodeGroup: (org, name) => auth.nodeGroups.nodeGroup(org, name),
    denied: async (caller, org, names) => auth.nodeGroups.denied(caller, org, names, await mayWrite(caller, org)),
    present: (org) => auth.organizations.present(org),
  };
}
