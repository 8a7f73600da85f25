import { normalizePublicKey, type PublicKey } from '@muster/signing';
import { MusterError } from '../errors.js';
import type { Changes, Trx } from './changes.js';
import { addToGroup } from './groups.js';
import { AUTH_LIMITS } from './limits.js';
import { forgetName, insertMember } from './organizations.js';
import type { AuthRepository } from './repository.js';
import { assertNotRevoked } from './revoked-keys.js';
import { endSessions } from './sessions/rows.js';
import { type Actor, isGood, type Organization, type PrincipalType } from './types.js';

export interface KeyView {
  /** SHA-256 of the DER; identifies the key. */
  readonly fingerprint: string;
  readonly publicKey: string;
  readonly createdAt: number;
  /** Null: it does not expire. */
  readonly expiresAt: number | null;
}

/** A key that somebody registers. */
export interface GivenKey {
  /** PEM. */
  readonly publicKey: string;
  /** Seconds from now on; null or absent: it does not expire. */
  readonly keyTtl?: number | null | undefined;
}

export interface PrincipalView {
  readonly name: string;
  readonly serverAdmin: boolean;
  readonly createdAt: number;
  readonly keys: readonly KeyView[];
}

export interface NewUser extends GivenKey {
  readonly name: string;
  readonly serverAdmin: boolean;
  /** Becomes a member of it and of `groups` in it. */
  readonly organization: Organization | null;
  readonly groups: readonly string[];
}

interface NewPrincipal {
  readonly id: string;
  readonly orgId: string | null;
  readonly type: PrincipalType;
  readonly name: string;
  readonly serverAdmin: boolean;
  readonly now: number;
}

interface NewKey {
  readonly key: PublicKey;
  readonly keyId: string;
  /** Null: it does not expire. */
  readonly keyExpiresAt: number | null;
}

/** null: without a key. */
type FirstKey = NewKey | { readonly key: null };

export async function insertPrincipal(trx: Trx, principal: NewPrincipal & FirstKey): Promise<void> {
  await trx
    .insertInto('principals')
    .values({
      id: principal.id,
      org_id: principal.orgId,
      type: principal.type,
      name: principal.name,
      server_admin: principal.serverAdmin ? 1 : 0,
      created_at: principal.now,
    })
    .execute();
  if (principal.key !== null) await insertKey(trx, principal, principal);
}

/** A node that brings no key: nobody can speak in its name. @throws MusterError `already_exists` */
export async function insertNode(
  trx: Trx,
  node: { readonly id: string; readonly orgId: string; readonly name: string; readonly now: number },
): Promise<void> {
  const taken = await findPrincipal(trx, node.orgId, node.name);
  if (taken !== undefined) throw new MusterError('already_exists', { kind: taken.type, name: node.name });
  await insertPrincipal(trx, { ...node, type: 'node', serverAdmin: false, key: null });
}

/** @throws MusterError `key_revoked` */
async function insertKey(
  trx: Trx,
  { id, orgId }: Pick<NewPrincipal, 'id' | 'orgId'>,
  { key, keyId, keyExpiresAt, now }: NewKey & Pick<NewPrincipal, 'now'>,
): Promise<void> {
  await assertNotRevoked(trx, orgId, key.fingerprint);
  await trx
    .insertInto('principal_keys')
    .values({
      id: keyId,
      principal_id: id,
      public_key: key.pem,
      fingerprint: key.fingerprint,
      created_at: now,
      expires_at: keyExpiresAt,
    })
    .execute();
}

function endOf(keyTtl: number | null | undefined, now: number): number | null {
  return keyTtl === null || keyTtl === undefined ? null : now + keyTtl * 1000;
}

/** What the audit and events say of a new key. */
function detailOf({ fingerprint }: PublicKey, expiresAt: number | null) {
  return { fingerprint, ...(expiresAt !== null && { expires_at: new Date(expiresAt).toISOString() }) };
}

/** Users are global; nodes and services share one space of names in their organization, as clients do in Chef. */
export function findPrincipal(trx: Trx, orgId: string | null, name: string) {
  const named = trx.selectFrom('principals').select(['id', 'type', 'server_admin']).where('name', '=', name);
  // The types lead into the index: without them this is a walk through the organization.
  return (
    orgId === null
      ? named.where('org_id', 'is', null).where('type', '=', 'user')
      : named.where('org_id', '=', orgId).where('type', 'in', ['node', 'service'])
  ).executeTakeFirst();
}

async function requirePrincipal(trx: Trx, orgId: string | null, type: PrincipalType, name: string): Promise<string> {
  const found = await findPrincipal(trx, orgId, name);
  if (found === undefined || found.type !== type) throw new MusterError('not_found', { kind: type, name });
  return found.id;
}

async function deletePrincipal(trx: Trx, id: string): Promise<void> {
  await trx.deleteFrom('principal_keys').where('principal_id', '=', id).execute();
  await trx.deleteFrom('access_tokens').where('principal_id', '=', id).execute();
  await trx.deleteFrom('directory_users').where('principal_id', '=', id).execute();
  await endSessions(trx, id, null);
  await trx.deleteFrom('org_members').where('principal_id', '=', id).execute();
  await trx.deleteFrom('org_invitations').where('principal_id', '=', id).execute();
  await trx.deleteFrom('principals').where('id', '=', id).execute();
}

/** Users, nodes and services, and their keys. */
export class Principals {
  readonly #changes: Changes;
  readonly #repository: AuthRepository;

  constructor(changes: Changes, repository: AuthRepository) {
    this.#changes = changes;
    this.#repository = repository;
  }

  /** By name; `orgId` null lists users. */
  async list(orgId: string | null, type: PrincipalType): Promise<readonly PrincipalView[]> {
    return this.#views(orgId, type, undefined);
  }

  async get(orgId: string | null, type: PrincipalType, name: string): Promise<PrincipalView> {
    const [found] = await this.#views(orgId, type, name);
    if (found === undefined) throw new MusterError('not_found', { kind: type, name });
    return found;
  }

  /** Whether a node can sign: it has a key that has not expired. */
  async nodeSigns(orgId: string, name: string): Promise<boolean> {
    const keys = await this.#repository.read
      .selectFrom('principals as p')
      .innerJoin('principal_keys as k', 'k.principal_id', 'p.id')
      .select('k.expires_at')
      .where('p.org_id', '=', orgId)
      .where('p.type', '=', 'node')
      .where('p.name', '=', name)
      .execute();
    return keys.some(({ expires_at: expiresAt }) => isGood(expiresAt, this.#changes.now));
  }

  async #views(orgId: string | null, type: PrincipalType, name: string | undefined): Promise<readonly PrincipalView[]> {
    let rows = this.#repository.read
      .selectFrom('principals as p')
      .leftJoin('principal_keys as k', 'k.principal_id', 'p.id')
      .select(['p.id', 'p.name', 'p.server_admin', 'p.created_at'])
      .select(['k.fingerprint', 'k.public_key', 'k.created_at as key_created_at', 'k.expires_at'])
      .where('p.type', '=', type)
      .orderBy('p.name')
      .orderBy('k.created_at');
    rows = orgId === null ? rows.where('p.org_id', 'is', null) : rows.where('p.org_id', '=', orgId);
    if (name !== undefined) rows = rows.where('p.name', '=', name);
    const views = new Map<string, PrincipalView & { readonly keys: KeyView[] }>();
    for (const row of await rows.execute()) {
      const view = views.get(row.id) ?? {
        name: row.name,
        serverAdmin: row.server_admin === 1,
        createdAt: row.created_at,
        keys: [],
      };
      if (row.fingerprint !== null && row.public_key !== null && row.key_created_at !== null) {
        const { fingerprint, public_key: publicKey, key_created_at: createdAt, expires_at: expiresAt } = row;
        view.keys.push({ fingerprint, publicKey, createdAt, expiresAt });
      }
      views.set(row.id, view);
    }
    return [...views.values()];
  }

  async createUser(user: NewUser, actor: Actor): Promise<PrincipalView> {
    const key = normalizePublicKey(user.publicKey);
    const { name, serverAdmin, organization } = user;
    const { now } = this.#changes;
    const keyExpiresAt = endOf(user.keyTtl, now);
    const id = this.#changes.newId();
    const keyId = this.#changes.newId();
    await this.#changes.apply(
      {
        orgId: organization?.id ?? null,
        actor,
        action: 'user.create',
        target: name,
        detail: { server_admin: serverAdmin, ...detailOf(key, keyExpiresAt), groups: user.groups.join(' ') },
      },
      async (trx) => {
        if ((await findPrincipal(trx, null, name)) !== undefined) {
          throw new MusterError('user_exists', { name });
        }
        const row = { id, orgId: null, type: 'user', name, serverAdmin, key, keyId, keyExpiresAt, now } as const;
        await insertPrincipal(trx, row);
        if (organization === null) return;
        await insertMember(trx, organization.id, id, now);
        for (const group of user.groups) await addToGroup(trx, organization.id, group, 'user', name, now);
      },
    );
    return this.get(null, 'user', name);
  }

  /** With the memberships, groups and tokens. The last server administrator stays. */
  async removeUser(name: string, actor: Actor): Promise<void> {
    const change = { orgId: null, actor, action: 'user.delete', target: name, concerns: { user: name } } as const;
    await this.#changes.apply(change, async (trx) => {
      const id = await requirePrincipal(trx, null, 'user', name);
      const admins = await trx.selectFrom('principals').select('id').where('server_admin', '=', 1).limit(2).execute();
      if (admins.length === 1 && admins[0]?.id === id) {
        throw new MusterError('in_use', { kind: 'user', name, reason: 'it is the last server administrator' });
      }
      await forgetName(trx, null, 'user', name);
      await deletePrincipal(trx, id);
    });
  }

  /** A node or service that brings its own key. */
  async createClient(
    organization: Organization,
    client: GivenKey & { readonly type: 'node' | 'service'; readonly name: string },
    actor: Actor,
  ): Promise<PrincipalView> {
    const { type, name } = client;
    const key = normalizePublicKey(client.publicKey);
    const { now } = this.#changes;
    const keyExpiresAt = endOf(client.keyTtl, now);
    const id = this.#changes.newId();
    const keyId = this.#changes.newId();
    const orgId = organization.id;
    await this.#changes.apply(
      { orgId, actor, action: `${type}.create`, target: name, detail: detailOf(key, keyExpiresAt) },
      async (trx) => {
        const taken = await findPrincipal(trx, orgId, name);
        if (taken !== undefined) throw new MusterError('already_exists', { kind: taken.type, name });
        await insertPrincipal(trx, { id, orgId, type, name, serverAdmin: false, key, keyId, keyExpiresAt, now });
      },
      { orgId, client: name },
    );
    return this.get(orgId, type, name);
  }

  /** With its groups and grants. */
  async removeClient(orgId: string, type: 'node' | 'service', name: string, actor: Actor): Promise<void> {
    await this.#changes.apply({ orgId, actor, action: `${type}.delete`, target: name }, async (trx) => {
      const id = await requirePrincipal(trx, orgId, type, name);
      await forgetName(trx, orgId, 'client', name);
      await deletePrincipal(trx, id);
    });
  }

  /** For a node that is being deleted: nodes may be known without a principal, and then there is nothing to forget. */
  async forgetNode(orgId: string, name: string, actor: Actor): Promise<void> {
    await this.#changes.apply({ orgId, actor, action: 'node.delete', target: name }, async (trx) => {
      const found = await findPrincipal(trx, orgId, name);
      if (found?.type !== 'node') return;
      await forgetName(trx, orgId, 'client', name);
      await deletePrincipal(trx, found.id);
    });
  }

  async addKey(
    orgId: string | null,
    type: PrincipalType,
    name: string,
    { publicKey, keyTtl }: GivenKey,
    actor: Actor,
  ): Promise<KeyView> {
    const key = normalizePublicKey(publicKey);
    const { now } = this.#changes;
    const keyExpiresAt = endOf(keyTtl, now);
    const keyId = this.#changes.newId();
    await this.#changes.apply(
      {
        orgId,
        actor,
        action: 'key.add',
        target: name,
        detail: { type, ...detailOf(key, keyExpiresAt) },
        concerns: { user: name },
      },
      async (trx) => {
        const id = await requirePrincipal(trx, orgId, type, name);
        const keys = await trx
          .selectFrom('principal_keys')
          .select('fingerprint')
          .where('principal_id', '=', id)
          .execute();
        if (keys.some(({ fingerprint }) => fingerprint === key.fingerprint)) {
          throw new MusterError('already_exists', { kind: 'key', name: key.fingerprint });
        }
        if (keys.length >= AUTH_LIMITS.keysPerPrincipal) {
          throw new MusterError('invalid_field', {
            field: 'public_key',
            reason: `a ${type} has at most ${AUTH_LIMITS.keysPerPrincipal} keys; delete one first`,
          });
        }
        await insertKey(trx, { id, orgId }, { key, keyId, keyExpiresAt, now });
      },
    );
    return { fingerprint: key.fingerprint, publicKey: key.pem, createdAt: now, expiresAt: keyExpiresAt };
  }

  /**
   * The last key stays: without one nobody could sign, and deleting the principal is the clearer way. Where all others have
   * expired it is the last one, too.
   */
  async removeKey(
    orgId: string | null,
    type: PrincipalType,
    name: string,
    fingerprint: string,
    actor: Actor,
  ): Promise<void> {
    const { now } = this.#changes;
    await this.#changes.apply(
      {
        orgId,
        actor,
        action: 'key.delete',
        target: name,
        detail: { type, fingerprint },
        concerns: { user: name },
      },
      async (trx) => {
        const id = await requirePrincipal(trx, orgId, type, name);
        const keys = await trx.selectFrom('principal_keys').selectAll().where('principal_id', '=', id).execute();
        const key = keys.find((one) => one.fingerprint === fingerprint);
        if (key === undefined) throw new MusterError('not_found', { kind: 'key', name: fingerprint });
        if (keys.length === 1) {
          throw new MusterError('in_use', { kind: 'key', name: fingerprint, reason: 'it is the only one' });
        }
        const good = keys.filter((one) => isGood(one.expires_at, now));
        if (good.length === 1 && good[0]?.id === key.id) {
          throw new MusterError('in_use', { kind: 'key', name: fingerprint, reason: 'all others have expired' });
        }
        await trx.deleteFrom('principal_keys').where('id', '=', key.id).execute();
      },
    );
  }
}
