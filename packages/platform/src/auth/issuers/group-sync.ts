import type { Trx } from '../changes.js';
import { addToGroup } from '../groups.js';
import { canonicalGroup } from '../names.js';
import type { SignInRules } from './rules.js';

/** What an issuer has made of a user's groups. */
export interface Synced {
  readonly joined: readonly string[];
  readonly left: readonly string[];
}

/** Groups of the organization that an issuer decides about. */
export function mappedGroups({ groups }: Pick<SignInRules, 'groups'>): readonly string[] {
  return [...new Set(Object.values(groups).map(canonicalGroup))].sort();
}

/** A member of the groups that the issuer gives, and of no other one that it decides about. */
export function syncOf(mapped: readonly string[], given: ReadonlySet<string>, held: ReadonlySet<string>): Synced {
  const names = new Set([...given].map(canonicalGroup));
  const joined = mapped.filter((group) => names.has(group) && !held.has(group));
  const left = mapped.filter((group) => !names.has(group) && held.has(group));
  return { joined, left };
}

/** @returns `made`: groups that were not there before. */
export async function syncGroups(
  trx: Trx,
  orgId: string,
  { user, groups }: { readonly user: string; readonly groups: ReadonlySet<string> },
  rules: Pick<SignInRules, 'groups'>,
  now: number,
): Promise<Synced & { readonly made: readonly string[] }> {
  const mapped = mappedGroups(rules);
  if (mapped.length === 0) return { joined: [], left: [], made: [] };
  const own = trx.selectFrom('group_members').select('group_name').where('org_id', '=', orgId);
  const rows = await own
    .where('kind', '=', 'user')
    .where('member', '=', user)
    .where('group_name', 'in', mapped)
    .execute();
  const { joined, left } = syncOf(mapped, groups, new Set(rows.map(({ group_name }) => group_name)));
  const made: string[] = [];
  for (const group of joined) if (await addToGroup(trx, orgId, group, 'user', user, now)) made.push(group);
  if (left.length > 0) {
    await trx
      .deleteFrom('group_members')
      .where('org_id', '=', orgId)
      .where('kind', '=', 'user')
      .where('member', '=', user)
      .where('group_name', 'in', left)
      .execute();
  }
  return { joined, left, made };
}
