import { normalizePublicKey } from '@muster/signing';
import type { Store } from '@muster/store';
import type { Audit } from './audit.js';
import type { Changes } from './changes.js';
import { addToGroup } from './groups.js';
import { ADMINS } from './names.js';
import { insertMember, insertOrganization } from './organizations.js';
import { insertPrincipal } from './principals.js';
import { SERVER } from './server-actor.js';

/** What a fresh server has. */
export const FIRST = { organization: 'default', user: 'admin' } as const;

/**
 * At the first start: an organization and a user who administers it and the server. True when they were made; later
 * starts find a user and change nothing. `publicKey` is asked for only then.
 */
export async function bootstrap(
  auth: { readonly changes: Changes; readonly audit: Audit },
  store: Store,
  publicKey: () => Promise<string>,
): Promise<boolean> {
  const { changes } = auth;
  const anybody = await store.read
    .selectFrom('principals')
    .select('id')
    .where('org_id', 'is', null)
    .limit(1)
    .executeTakeFirst();
  if (anybody !== undefined) return false;
  const key = normalizePublicKey(await publicKey());
  const { now } = changes;
  const organization = { id: changes.newId(), name: FIRST.organization };
  const id = changes.newId();
  const keyId = changes.newId();
  await changes.apply(
    { orgId: organization.id, actor: SERVER, action: 'server.bootstrap', target: FIRST.user },
    async (trx) => {
      await insertOrganization(trx, organization, now);
      await insertPrincipal(trx, {
        id,
        orgId: null,
        type: 'user',
        name: FIRST.user,
        serverAdmin: true,
        key,
        keyId,
        keyExpiresAt: null,
        now,
      });
      await insertMember(trx, organization.id, id, now);
      await addToGroup(trx, organization.id, ADMINS, 'user', FIRST.user, now);
    },
  );
  return true;
}
