import type { OrganizationRows } from '@muster/platform/auth';
import { deleteSome } from '@muster/store';
import './tables.js';

/** What of rules goes with an organization. */
export const RULE_ROWS: OrganizationRows = {
  async clear(trx, orgId, most) {
    const where = ['org_id', [orgId]] as const;
    if (!(await deleteSome(trx, { table: 'rule_runs', key: ['rule_id', 'position'], where, most }))) return false;
    return deleteSome(trx, { table: 'rules', key: ['id'], where, most });
  },
};
