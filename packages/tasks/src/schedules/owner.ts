import type { Auth, Identity, Organization } from '@muster/platform/auth';
import type { WorkPlace } from './types.js';

export type RightsOf = Pick<Auth, 'authorize' | 'repository'>;

/** May they start this now? Of a push job each node is looked at besides, as for every one. */
export function mayStart(
  { authorize }: Pick<Auth, 'authorize'>,
  identity: Identity,
  org: Organization,
  work: WorkPlace,
): Promise<boolean> {
  return work.kind === 'task'
    ? authorize(identity, org, 'queue:write', work.queueId)
    : authorize(identity, org, 'push:execute');
}
