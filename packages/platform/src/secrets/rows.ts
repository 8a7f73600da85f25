import { deleteSome } from '@muster/store';
import type { OrganizationRows } from '../auth/organization-rows.js';
import '../schema/tables.js';

/** Secrets go with their organization. */
export const SECRET_ROWS: OrganizationRows = {
  clear: (trx, orgId, most) =>
    deleteSome(trx, { table: 'org_secrets', key: ['id'], where: ['org_id', [orgId]] as const, most }),
};
