import { deleteSome } from '@muster/store';
import type { Trx } from './changes.js';
import type { OrganizationRows } from './organization-rows.js';

/** Identities of an organization, and what hangs on their names. */
export const IDENTITY_ROWS: OrganizationRows = {
  async inUse(trx, orgId) {
    const node = await trx
      .selectFrom('principals')
      .select('name')
      .where('org_id', '=', orgId)
      .where('type', '=', 'node')
      .limit(1)
      .executeTakeFirst();
    return node === undefined ? null : `node '${node.name}' belongs to it`;
  },
  async clear(trx, orgId, most) {
    if (!(await clearClients(trx, orgId, most))) return false;
    for (const rows of OF_ORGANIZATION) {
      if (!(await deleteSome(trx, { ...rows, where: ['org_id', [orgId]], most }))) return false;
    }
    return true;
  },
};

/** Keys and access tokens are found by whose they are, so they go before their bearers. */
async function clearClients(trx: Trx, orgId: string, most: number): Promise<boolean> {
  const rows = await trx.selectFrom('principals').select('id').where('org_id', '=', orgId).limit(most).execute();
  const clients = rows.map(({ id }) => id);
  for (const table of ['principal_keys', 'access_tokens'] as const) {
    if (!(await deleteSome(trx, { table, key: ['id'], where: ['principal_id', clients], most }))) return false;
  }
  await deleteSome(trx, { table: 'principals', key: ['id'], where: ['id', clients], most });
  return clients.length < most;
}

const OF_ORGANIZATION = [
  { table: 'group_members', key: ['org_id', 'group_name', 'kind', 'member'] },
  { table: 'groups', key: ['org_id', 'name'] },
  { table: 'node_group_members', key: ['org_id', 'group_name', 'node'] },
  { table: 'node_group_grants', key: ['org_id', 'group_name', 'kind', 'member'] },
  { table: 'node_groups', key: ['org_id', 'name'] },
  { table: 'event_grants', key: ['org_id', 'action', 'pattern', 'kind', 'member'] },
  { table: 'event_cursors', key: ['org_id', 'principal', 'kind', 'name'] },
  { table: 'scheduled_events', key: ['id'] },
  { table: 'enrol_tokens', key: ['id'] },
  { table: 'revoked_keys', key: ['org_id', 'fingerprint'] },
  { table: 'issuers', key: ['id'] },
  { table: 'directory_users', key: ['issuer_id', 'principal_id'] },
  { table: 'sign_in_links', key: ['hash'] },
  { table: 'browser_sessions', key: ['id'] },
  { table: 'used_sign_ins', key: ['org_id', 'hash'] },
  { table: 'org_members', key: ['org_id', 'principal_id'] },
  { table: 'org_invitations', key: ['id'] },
] as const;
