import type { AuthRepository } from './repository.js';
import type { PrincipalType } from './types.js';

/** A key and whose it is. */
export interface ListedKey {
  readonly type: PrincipalType;
  readonly name: string;
  readonly fingerprint: string;
  readonly createdAt: number;
  /** Null: it does not expire. */
  readonly expiresAt: number | null;
}

export interface KeyListing {
  readonly orgId: string;
  /** Only keys that expire until then, or have already; milliseconds since the epoch. */
  readonly expiringBy: number | null;
  readonly limit: number;
  readonly offset: number;
}

/** The keys of an organization's nodes and services and of the users who belong to it, by name; and how many there are in all. */
export async function listKeys(
  { read }: Pick<AuthRepository, 'read'>,
  { orgId, expiringBy, limit, offset }: KeyListing,
): Promise<{ readonly total: number; readonly keys: readonly ListedKey[] }> {
  const members = read.selectFrom('org_members').select('principal_id').where('org_id', '=', orgId);
  const all = read
    .selectFrom('principal_keys as k')
    .innerJoin('principals as p', 'p.id', 'k.principal_id')
    .where((where) => where.or([where('p.org_id', '=', orgId), where('p.id', 'in', members)]));
  const wanted = expiringBy === null ? all : all.where('k.expires_at', '<=', expiringBy);
  const { total } = await wanted
    .select((row) => row.fn.countAll<number | string | bigint>().as('total'))
    .executeTakeFirstOrThrow();
  const keys = await wanted
    .select(['p.type', 'p.name', 'k.fingerprint', 'k.created_at as createdAt', 'k.expires_at as expiresAt'])
    .orderBy('p.name')
    .orderBy('p.type')
    .orderBy('k.created_at')
    .orderBy('k.id')
    .limit(limit)
    .offset(offset)
    .execute();
  return { total: Number(total), keys };
}
