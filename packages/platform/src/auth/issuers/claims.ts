import { PRINCIPAL_NAME } from '../names.js';
import { ISSUER_LIMITS, type Issuer } from './types.js';

export type Claims = Readonly<Record<string, unknown>>;

const END_USER = 'http://wso2.org/claims/enduser';
const ROLE = 'http://wso2.org/claims/role';
const TENANTS = ['http://wso2.org/claims/enduserTenantId', 'tenant_id'] as const;

const principalName = new RegExp(PRINCIPAL_NAME);

/** The user that a token is of (sheet §8.2), or why it names none that there can be, without what it says. */
export function userOf(
  claims: Claims,
  { userClaim }: Pick<Issuer, 'userClaim'>,
): { readonly user: string } | { readonly reason: string } {
  const endUser = userClaim === null ? claims[END_USER] : undefined;
  const claim = endUser === undefined ? (userClaim ?? 'sub') : END_USER;
  const name = endUser === undefined ? claims[claim] : plainName(endUser);
  if (typeof name === 'string' && principalName.test(name)) return { user: name };
  return { reason: `it names no user: its claim ${claim} ${whyNoName(name)}` };
}

function whyNoName(said: unknown): string {
  if (said === undefined || said === null) return 'is missing';
  if (said === '') return 'is empty';
  if (Array.isArray(said)) return 'is a list';
  return typeof said === 'string' ? 'is no name that a user can have' : 'is no text';
}

/** `jdoe@carbon.super` and `PORTALS/jdoe` are jdoe. */
function plainName(endUser: unknown): unknown {
  if (typeof endUser !== 'string') return endUser;
  const at = endUser.indexOf('@');
  return at >= 0 ? endUser.slice(0, at) : endUser.slice(endUser.indexOf('/') + 1);
}

/** Comma separated; null: it says none. Kept with what the user does, they give no rights here. */
export function rolesOf(claims: Claims): string | null {
  const said = claims[ROLE] ?? claims.roles;
  const roles = Array.isArray(said) ? said.filter((role) => typeof role === 'string').join(',') : said;
  return typeof roles === 'string' && roles !== '' ? roles.slice(0, ISSUER_LIMITS.roles) : null;
}

/** Undefined: it says nothing of a tenant. */
export function tenantOf(claims: Claims): string | undefined {
  const said = TENANTS.map((name) => claims[name]).find((value) => value !== undefined && value !== '');
  return said === undefined ? undefined : String(said);
}

/** Values of a claim that is a text or a list of them. None when it is missing, or anything else. */
export function valuesOf(claims: Claims, claim: string): readonly string[] {
  const said = claims[claim];
  return (Array.isArray(said) ? said : [said]).filter((value) => typeof value === 'string');
}

/** As tenants are compared: `AGAVE-DEV` and `agave_dev` are agave.dev. */
export function normalTenant(raw: string): string {
  return raw.toLowerCase().replace(/[-_]/g, '.');
}
