import type { AuthRepository } from './repository.js';
import type { Identity, Organization } from './types.js';

/** Whoever something runs for that goes on without them, as a schedule does; null: they do not belong to the organization any more. */
export async function principalNow(
  repository: Pick<AuthRepository, 'candidates'>,
  org: Organization,
  one: Pick<Identity, 'name' | 'principalId'>,
): Promise<Identity | null> {
  const candidates = await repository.candidates(org.id, one.name);
  // A name may be given again: somebody else has it then.
  const found = candidates.find(({ principalId, member }) => member && principalId === one.principalId);
  if (found === undefined) return null;
  const { principalId, type, name, serverAdmin } = found;
  return { principalId, type, name, serverAdmin, publicKey: null };
}
