import { deleteSome } from '@muster/store';
import type { OrganizationRows } from '../auth/organization-rows.js';
import '../schema/tables.js';

/** What was counted goes with the organization. */
export const COUNT_ROWS: OrganizationRows = {
  clear: (trx, orgId, most) => {
    const where = ['org_id', [orgId]] as const;
    return deleteSome(trx, { table: 'event_counts', key: ['org_id', 'hour', 'type', 'status'], where, most });
  },
};
