import { deleteSome } from '@muster/store';
import type { OrganizationRows } from '../auth/organization-rows.js';
import '../schema/tables.js';

/** What goes with an organization: whom its events are told, and what was sent. */
export const OUTBOUND_ROWS: OrganizationRows = {
  async clear(trx, orgId, most) {
    const where = ['org_id', [orgId]] as const;
    if (!(await deleteSome(trx, { table: 'deliveries', key: ['id'], where, most }))) return false;
    if (!(await deleteSome(trx, { table: 'audit_trails', key: ['notification_id'], where, most }))) return false;
    return deleteSome(trx, { table: 'notifications', key: ['id'], where, most });
  },
};
