import type { Store } from '@muster/store';
import { MusterError } from '../errors.js';
import type { Changes, Trx } from './changes.js';
import type { IdentityListeners } from './identity-listeners.js';
import { AUTH_LIMITS } from './limits.js';
import type { AuthRepository } from './repository.js';
import type { Actor, Organization, PrincipalType } from './types.js';

/** Whose a key was. */
export interface KeyHolder {
  readonly type: PrincipalType;
  readonly name: string;
}

/** A key that counts for nobody any more, and that nobody can be given. */
export interface RevokedKey {
  readonly fingerprint: string;
  readonly reason: string | null;
  /** When it was revoked. */
  readonly heldBy: readonly KeyHolder[];
  readonly revokedBy: string;
  readonly revokedAt: number;
}

/** A key that is to be revoked. */
export interface Revocation {
  readonly fingerprint: string;
  readonly reason: string | null;
}

export interface Revoked {
  readonly fingerprint: string;
  /** From whom it was taken now. */
  readonly heldBy: readonly KeyHolder[];
  /** It was on the list already. */
  readonly already: boolean;
  /** It is on the list now; false: only users have it. */
  readonly listed: boolean;
  /** Users who go on signing with it, as the list of an organization is not about them. */
  readonly keptBy: readonly KeyKeeper[];
}

/** A user's name is told in organizations it belongs to: null elsewhere. */
export interface KeyKeeper {
  readonly type: 'user';
  readonly name: string | null;
}

/** The list of an organization, or that of the server: null. */
type Scope = Organization | null;

/** As it is stored: no organization has this id. */
const SERVER = '';

interface Holder extends KeyHolder {
  readonly keyId: string;
  readonly organization: Scope;
}

/**
 * Lists of keys that are no secret any more: one of each organization, which is about its nodes and services, and one of the
 * server, which is about everybody. To revoke a key takes it from whoever has it, and it cannot come back: not by
 * enrolment with a token, and not by the hand of an admin who does not know.
 */
export class RevokedKeys {
  readonly #changes: Changes;
  readonly #repository: Pick<AuthRepository, 'read'>;
  readonly #listeners: Pick<IdentityListeners, 'keyRemoved'>;

  constructor(changes: Changes, repository: AuthRepository, listeners: Pick<IdentityListeners, 'keyRemoved'>) {
    this.#changes = changes;
    this.#repository = repository;
    this.#listeners = listeners;
  }

  /** The latest first, and how many there are in all. */
  async list(
    scope: Scope,
    { limit, offset }: { readonly limit: number; readonly offset: number },
  ): Promise<{ readonly total: number; readonly keys: readonly RevokedKey[] }> {
    const total = await countOf(this.#repository.read, scope);
    const rows = await this.#repository.read
      .selectFrom('revoked_keys')
      .selectAll()
      .where('org_id', '=', idOf(scope))
      .orderBy('revoked_at', 'desc')
      .orderBy('fingerprint')
      .limit(limit)
      .offset(offset)
      .execute();
    const keys = rows.map(({ fingerprint, reason, held_by, revoked_by: revokedBy, revoked_at: revokedAt }) => ({
      fingerprint,
      reason,
      heldBy: JSON.parse(held_by) as KeyHolder[],
      revokedBy,
      revokedAt,
    }));
    return { total, keys };
  }

  /**
   * One after the other; safe to repeat. An organization does not list a key that only users have: it would go on signing,
   * and seem to be revoked. On the server's list, organizations whose nodes or services have the key have it on
   * theirs, too, so that their audit tells of it.
   * @throws MusterError `in_use` when no server administrator could sign any more; `invalid_field` when the list is full.
   */
  async revoke(scope: Scope, revocations: readonly Revocation[], actor: Actor): Promise<readonly Revoked[]> {
    const revoked: Revoked[] = [];
    for (const revocation of revocations) revoked.push(await this.#revoke(scope, revocation, actor));
    return revoked;
  }

  async #revoke(scope: Scope, revocation: Revocation, actor: Actor): Promise<Revoked> {
    const { fingerprint } = revocation;
    if (scope !== null) return this.#ofOrganization(scope, revocation, actor);
    const heldBy: KeyHolder[] = [];
    for (const organization of organizationsOf(await holdersOf(this.#repository.read, null, fingerprint))) {
      heldBy.push(...(await this.#list(organization, revocation, actor)).heldBy);
    }
    const here = await this.#list(null, revocation, actor);
    return { ...here, heldBy: [...heldBy, ...here.heldBy] };
  }

  async #ofOrganization(scope: Organization, revocation: Revocation, actor: Actor): Promise<Revoked> {
    const { fingerprint } = revocation;
    const { read } = this.#repository;
    const keptBy = await usersWith(read, scope, fingerprint);
    if (keptBy.length > 0 && (await holdersOf(read, scope, fingerprint)).length === 0) {
      const listed = await isListed(read, scope, fingerprint);
      return { fingerprint, already: listed, listed, heldBy: [], keptBy };
    }
    return { ...(await this.#list(scope, revocation, actor)), keptBy };
  }

  async #list(scope: Scope, { fingerprint, reason }: Revocation, actor: Actor): Promise<Revoked> {
    const { now } = this.#changes;
    const orgId = idOf(scope);
    // For the audit; what counts is found again below.
    const known = await holdersOf(this.#repository.read, scope, fingerprint);
    const user = known.find(({ type }) => type === 'user');
    const { holders, already } = await this.#changes.apply(
      {
        orgId: scope?.id ?? null,
        actor,
        action: 'key.revoke',
        target: known.map(({ name }) => name).join(' ') || fingerprint,
        detail: { fingerprint, ...(reason !== null && { reason }) },
        ...(user !== undefined && { concerns: { user: user.name } }),
      },
      async (trx) => {
        const holders = await holdersOf(trx, scope, fingerprint);
        const ids = holders.map(({ keyId }) => keyId);
        if (ids.length > 0) await trx.deleteFrom('principal_keys').where('id', 'in', ids).execute();
        if (holders.some(({ type }) => type === 'user')) await assertAdminsSign(trx, fingerprint, now);
        if (await isListed(trx, scope, fingerprint)) return { holders, already: true };
        await assertRoom(trx, scope);
        const heldBy = JSON.stringify(holders.map(({ type, name }) => ({ type, name })));
        await trx
          .insertInto('revoked_keys')
          .values({ org_id: orgId, fingerprint, reason, held_by: heldBy, revoked_by: actor.name, revoked_at: now })
          .execute();
        return { holders, already: false };
      },
      'anything',
      (done) => !done.already || done.holders.length > 0,
    );
    for (const { type, name, organization } of holders) {
      if (type === 'node' && organization !== null) await this.#listeners.keyRemoved(organization, name, fingerprint);
    }
    const heldBy = holders.map(({ type, name }) => ({ type, name }));
    return { fingerprint, already, listed: true, heldBy, keptBy: [] };
  }

  /** It may be given to somebody again. Nobody gets it back by this. @throws MusterError `not_found` */
  async restore(scope: Scope, fingerprint: string, actor: Actor): Promise<void> {
    await this.#changes.apply(
      { orgId: scope?.id ?? null, actor, action: 'key.restore', target: fingerprint, detail: {} },
      async (trx) => {
        const { numDeletedRows } = await trx
          .deleteFrom('revoked_keys')
          .where('org_id', '=', idOf(scope))
          .where('fingerprint', '=', fingerprint)
          .executeTakeFirst();
        if (numDeletedRows === 0n) throw new MusterError('not_found', { kind: 'revoked key', name: fingerprint });
      },
    );
  }
}

/** Of whoever is to be given the key. `orgId` null: a user. @throws MusterError `key_revoked` */
export async function assertNotRevoked(trx: Trx, orgId: string | null, fingerprint: string): Promise<void> {
  const row = await trx
    .selectFrom('revoked_keys')
    .select(['reason', 'revoked_at'])
    .where('fingerprint', '=', fingerprint)
    .where('org_id', 'in', orgId === null ? [SERVER] : [SERVER, orgId])
    .executeTakeFirst();
  if (row === undefined) return;
  const at = new Date(row.revoked_at).toISOString();
  throw new MusterError('key_revoked', { fingerprint, at, reason: row.reason === null ? '' : `: ${row.reason}` });
}

function idOf(scope: Scope): string {
  return scope?.id ?? SERVER;
}

/** Who has it, of whom the list is about. */
async function holdersOf(read: Store['read'], scope: Scope, fingerprint: string): Promise<readonly Holder[]> {
  const having = read
    .selectFrom('principal_keys as k')
    .innerJoin('principals as p', 'p.id', 'k.principal_id')
    .leftJoin('organizations as o', 'o.id', 'p.org_id')
    .select(['k.id as keyId', 'p.type', 'p.name', 'o.id as orgId', 'o.name as orgName'])
    .where('k.fingerprint', '=', fingerprint)
    .orderBy('p.name');
  const rows = await (scope === null ? having : having.where('p.org_id', '=', scope.id)).execute();
  return rows.map(({ keyId, type, name, orgId, orgName }) => ({
    keyId,
    type,
    name,
    organization: orgId === null || orgName === null ? null : { id: orgId, name: orgName },
  }));
}

async function usersWith(read: Store['read'], { id }: Organization, fingerprint: string): Promise<KeyKeeper[]> {
  const rows = await read
    .selectFrom('principal_keys as k')
    .innerJoin('principals as p', 'p.id', 'k.principal_id')
    .leftJoin('org_members as m', (on) => on.onRef('m.principal_id', '=', 'p.id').on('m.org_id', '=', id))
    .select(['p.name', 'm.org_id as memberOf'])
    .where('k.fingerprint', '=', fingerprint)
    .where('p.type', '=', 'user')
    .orderBy('p.name')
    .execute();
  return rows.map(({ name, memberOf }) => ({ type: 'user', name: memberOf === null ? null : name }));
}

async function isListed(read: Store['read'], scope: Scope, fingerprint: string): Promise<boolean> {
  const listed = await read
    .selectFrom('revoked_keys')
    .select('fingerprint')
    .where('fingerprint', '=', fingerprint)
    .where('org_id', '=', idOf(scope))
    .executeTakeFirst();
  return listed !== undefined;
}

function organizationsOf(holders: readonly Holder[]): Iterable<Organization> {
  return new Map(holders.flatMap(({ organization: org }) => (org === null ? [] : [[org.id, org] as const]))).values();
}

/** Without a server administrator who can sign, nobody could manage the server any more. */
async function assertAdminsSign(trx: Trx, fingerprint: string, now: number): Promise<void> {
  const left = await trx
    .selectFrom('principals as p')
    .innerJoin('principal_keys as k', 'k.principal_id', 'p.id')
    .select('p.id')
    .where('p.server_admin', '=', 1)
    .where((where) => where.or([where('k.expires_at', 'is', null), where('k.expires_at', '>', now)]))
    .limit(1)
    .executeTakeFirst();
  if (left === undefined) {
    const reason = 'no server administrator could sign without it: give one another key first';
    throw new MusterError('in_use', { kind: 'key', name: fingerprint, reason });
  }
}

async function countOf(read: Store['read'], scope: Scope): Promise<number> {
  const { total } = await read
    .selectFrom('revoked_keys')
    .select((row) => row.fn.countAll<number | string | bigint>().as('total'))
    .where('org_id', '=', idOf(scope))
    .executeTakeFirstOrThrow();
  return Number(total);
}

async function assertRoom(trx: Trx, scope: Scope): Promise<void> {
  if ((await countOf(trx, scope)) < AUTH_LIMITS.revokedKeys) return;
  const reason = `the list has ${AUTH_LIMITS.revokedKeys} keys already; take off those that can never come back`;
  throw new MusterError('invalid_field', { field: 'keys', reason });
}
