import type { Auth, Identity, Organization } from '@muster/platform/auth';
import type { Owner, WorkPlace } from './types.js';

export type RightsOf = Pick<Auth, 'authorize' | 'repository'>;

/** Whoever a schedule runs for, if they still belong to the organization. */
export async function ownerNow({ repository }: RightsOf, org: Organization, owner: Owner): Promise<Identity | null> {
  const candidates = await repository.candidates(org.id, owner.name);
  // A name may be given again: somebody else has it then.
  const found = candidates.find(({ principalId, member }) => member && principalId === owner.principalId);
  if (found === undefined) return null;
  const { principalId, type, name, serverAdmin } = found;
  return { principalId, type, name, serverAdmin, publicKey: null };
}

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
