import { canonicalGroup } from './names.js';
import { memberWritten } from './permissions.js';
import type { AuthRepository } from './repository.js';

/**
 * Those of a list as `membersWritten` takes it who are not there: misspelt, or people who have not signed in yet, as they are taken over
 * from elsewhere when they do. So they are told of, and not refused.
 */
export async function unknownMembers(
  repository: Pick<AuthRepository, 'candidates' | 'groups' | 'isMember'>,
  orgId: string,
  list: readonly string[],
): Promise<readonly string[]> {
  const groups = await repository.groups(orgId);
  const isKnown = async (written: string): Promise<boolean> => {
    const { kind, name } = memberWritten(written);
    if (kind === 'group') return groups.has(canonicalGroup(name));
    if (kind === 'user') return repository.isMember(orgId, name);
    return (await repository.candidates(orgId, name)).some(({ type }) => type !== 'user');
  };
  const unknown: string[] = [];
  for (const written of new Set(list)) if (!(await isKnown(written))) unknown.push(written);
  return unknown;
}
