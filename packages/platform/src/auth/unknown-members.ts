import { canonicalGroup } from './names.js';
import { membersWritten } from './permissions.js';
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
    const { users, clients, groups: named } = membersWritten([written]);
    const [[group], [user], [client = '']] = [[...named], [...users], [...clients]];
    if (group !== undefined) return groups.has(canonicalGroup(group));
    if (user !== undefined) return repository.isMember(orgId, user);
    return (await repository.candidates(orgId, client)).some(({ type }) => type !== 'user');
  };
  const unknown: string[] = [];
  for (const written of new Set(list)) if (!(await isKnown(written))) unknown.push(written);
  return unknown;
}
