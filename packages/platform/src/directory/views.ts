import type { Holding } from '../auth/holdings.js';
import type { ListedKey } from '../auth/key-list.js';
import type { OrganizationView } from '../auth/organizations.js';
import type { KeyView, PrincipalView } from '../auth/principals.js';
import type { RevokedKey } from '../auth/revoked-keys.js';
import type { AccessTokenView, EnrolTokenView } from '../auth/tokens.js';

/** What is stored, as REST shows it: snake case, times as ISO 8601. */
export function time(ms: number): string {
  return new Date(ms).toISOString();
}

export function organizationView({ id, name, createdAt }: OrganizationView) {
  return { id, name, created_at: time(createdAt) };
}

export function keyView({ fingerprint, publicKey, createdAt, expiresAt }: KeyView) {
  const expires = expiresAt === null ? null : time(expiresAt);
  return { fingerprint, public_key: publicKey, created_at: time(createdAt), expires_at: expires };
}

export function listedKeyView({ type, name, fingerprint, createdAt, expiresAt }: ListedKey) {
  const expires = expiresAt === null ? null : time(expiresAt);
  return { type, name, fingerprint, created_at: time(createdAt), expires_at: expires };
}

export function revokedKeyView(
  { fingerprint, reason, heldBy, revokedBy, revokedAt }: RevokedKey,
  list: 'organization' | 'server',
) {
  return { list, fingerprint, reason, held_by: [...heldBy], revoked_by: revokedBy, revoked_at: time(revokedAt) };
}

export function userView({ name, serverAdmin, createdAt, keys }: PrincipalView) {
  return { name, server_admin: serverAdmin, created_at: time(createdAt), keys: keys.map(keyView) };
}

export function clientView(type: 'node' | 'service', { name, createdAt, keys }: PrincipalView) {
  return { name, type, created_at: time(createdAt), keys: keys.map(keyView) };
}

export function tokenView({ id, usesLeft, expiresAt, createdBy, createdAt }: EnrolTokenView) {
  return {
    id,
    uses_left: usesLeft,
    expires_at: time(expiresAt),
    created_by: createdBy,
    created_at: time(createdAt),
  };
}

function accessTokenTimes({ id, expiresAt, createdBy, createdAt }: AccessTokenView) {
  return { id, expires_at: time(expiresAt), created_by: createdBy, created_at: time(createdAt) };
}

export function userTokenView(token: AccessTokenView) {
  return { ...accessTokenTimes(token), user: token.bearer };
}

export function serviceTokenView(token: AccessTokenView) {
  return { ...accessTokenTimes(token), service: token.bearer };
}

export function holdingView({ permission, by }: Holding) {
  const reasons = by.map((reason) => ({ kind: reason.kind, name: 'name' in reason ? reason.name : null }));
  return { permission, by: reasons };
}
