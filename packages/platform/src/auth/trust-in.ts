import type { Trx } from './changes.js';

const TRUST = [
  ['group_members', 'it is in a group'],
  ['node_group_grants', 'it holds a grant on a node group'],
  ['event_grants', 'it holds a restricted event type'],
] as const;

/**
 * What an admin of the organization has given to a name, maybe before anybody bears it. Who comes by a token of whatever kind does not
 * get it with the name. null: nothing.
 */
export async function trustIn(trx: Trx, orgId: string, kind: 'user' | 'client', name: string): Promise<string | null> {
  for (const [table, reason] of TRUST) {
    const row = await trx
      .selectFrom(table)
      .select('member')
      .where('org_id', '=', orgId)
      .where('kind', '=', kind)
      .where('member', '=', name)
      .limit(1)
      .executeTakeFirst();
    if (row !== undefined) return reason;
  }
  return null;
}
