import type { Auth, Identity, Organization } from '@muster/platform/auth';
import '../rights.js';
import type { Asker } from './ports.js';

export async function askerOf(
  auth: Pick<Auth, 'authorize'>,
  caller: Identity,
  organization: Organization,
): Promise<Asker> {
  const admin = await auth.authorize(caller, organization, 'job:admin');
  return { user: ownerName(caller), address: caller.address ?? null, admin, roles: caller.roles ?? null };
}

/** A node or service may have the name of a user, and is not that user; nor is a user whose name begins so a node. */
export function ownerName({ type, name }: Pick<Identity, 'type' | 'name'>): string {
  if (type !== 'user') return `client:${name}`;
  return /^(?:client|user):/.test(name) ? `user:${name}` : name;
}
