import { inPieces, type MemberLists } from './groups.js';
import { canonicalGroup } from './names.js';
import type { AuthRepository } from './repository.js';

type Reader = AuthRepository['read'];

/**
 * Those of the names that nobody in the organization has. They are taken all the same (sheet §7.3), and count once somebody
 * has them; but who has misspelt one is to be told.
 */
export async function unknownNames(
  repository: AuthRepository,
  orgId: string,
  { users, clients, groups }: MemberLists,
): Promise<MemberLists> {
  const { read } = repository;
  const known = await repository.groups(orgId);
  return {
    users: await missing(users, (names) => usersOf(read, orgId, names)),
    clients: await missing(clients, (names) => clientsOf(read, orgId, names)),
    groups: groups.filter((name) => !known.has(canonicalGroup(name))),
  };
}

async function missing(
  names: readonly string[],
  find: (names: string[]) => Promise<readonly { readonly name: string }[]>,
): Promise<readonly string[]> {
  const found = new Set<string>();
  await inPieces([...new Set(names)], async (piece) => {
    for (const { name } of await find(piece)) found.add(name);
  });
  return [...new Set(names)].filter((name) => !found.has(name));
}

function usersOf(read: Reader, orgId: string, names: string[]) {
  return read
    .selectFrom('org_members as m')
    .innerJoin('principals as p', 'p.id', 'm.principal_id')
    .select('p.name')
    .where('m.org_id', '=', orgId)
    .where('p.type', '=', 'user')
    .where('p.name', 'in', names)
    .execute();
}

function clientsOf(read: Reader, orgId: string, names: string[]) {
  return read
    .selectFrom('principals')
    .select('name')
    .where('org_id', '=', orgId)
    .where('type', 'in', ['node', 'service'])
    .where('name', 'in', names)
    .execute();
}
