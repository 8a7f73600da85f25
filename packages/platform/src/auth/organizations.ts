import { guard, type Schema, type Write } from '@muster/store';
import { type Kysely, sql } from 'kysely';
import { MusterError } from '../errors.js';
import type { Changes, Trx } from './changes.js';
import { AUTH_LIMITS } from './limits.js';
import { ADMINS } from './names.js';
import type { OrganizationRemnants, OrganizationRows } from './organization-rows.js';
import type { AuthRepository } from './repository.js';
import { endSessions } from './sessions/rows.js';
import type { Actor, Identity, Organization } from './types.js';

const isPresent = guard('organizations', { id: 'text', name: 'text' }, ['id']);

export interface OrganizationView extends Organization {
  readonly createdAt: number;
}

/** Inserts the organization with its empty `admins` group. Its id begins every job id (sheet §7.5). */
export async function insertOrganization(trx: Trx, organization: Organization, now: number): Promise<void> {
  await trx
    .insertInto('organizations')
    .values({ ...organization, created_at: now })
    .execute();
  await trx.insertInto('groups').values({ org_id: organization.id, name: ADMINS, created_at: now }).execute();
}

/** For what names its organization in its own way, such as a queue of a broker; null: there is none of this name. */
export async function organizationIdOf(read: Kysely<Schema>, name: string): Promise<string | null> {
  const row = await read.selectFrom('organizations').select('id').where('name', '=', name).executeTakeFirst();
  return row?.id ?? null;
}

/** All of them by id, for layers that take up what they had stored. */
export async function organizationsById(read: Kysely<Schema>): Promise<ReadonlyMap<string, Organization>> {
  const rows = await read.selectFrom('organizations').select(['id', 'name']).execute();
  return new Map(rows.map((organization) => [organization.id, organization]));
}

/** Who is a member needs no invitation any more. */
export async function insertMember(trx: Trx, orgId: string, principalId: string, now: number): Promise<void> {
  await trx
    .insertInto('org_members')
    .values({ org_id: orgId, principal_id: principalId, created_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await trx.deleteFrom('org_invitations').where('org_id', '=', orgId).where('principal_id', '=', principalId).execute();
}

/** Everything a name holds in an organization goes with it, so that the next bearer of the name inherits nothing. */
export async function forgetName(trx: Trx, orgId: string | null, kind: 'user' | 'client', name: string): Promise<void> {
  let members = trx.deleteFrom('group_members').where('kind', '=', kind).where('member', '=', name);
  let grants = trx.deleteFrom('node_group_grants').where('kind', '=', kind).where('member', '=', name);
  let eventGrants = trx.deleteFrom('event_grants').where('kind', '=', kind).where('member', '=', name);
  let cursors = trx
    .deleteFrom('event_cursors')
    .where('kind', 'in', kind === 'user' ? ['user'] : ['node', 'service'])
    .where('principal', 'in', (from) =>
      from.selectFrom('organizations').select(sql<string>`name || '/' || ${name}`.as('principal')),
    );
  if (orgId !== null) {
    members = members.where('org_id', '=', orgId);
    grants = grants.where('org_id', '=', orgId);
    eventGrants = eventGrants.where('org_id', '=', orgId);
    cursors = cursors.where('org_id', '=', orgId);
  }
  for (const rows of [members, grants, eventGrants, cursors]) await rows.execute();
}

interface OrganizationParts {
  readonly rows: readonly OrganizationRows[];
  readonly remnants: Pick<OrganizationRemnants, 'hurry'>;
}

/** Which of them: all unless it says. */
interface Sought {
  readonly name?: string | undefined;
  readonly type?: 'user' | 'service';
}

/** Tenants and their members. */
export class Organizations {
  readonly #changes: Changes;
  readonly #repository: AuthRepository;
  readonly #rows: readonly OrganizationRows[];
  readonly #remnants: Pick<OrganizationRemnants, 'hurry'>;
  /** Ids of organizations that were deleted here, or are being deleted. */
  readonly #removed = new Set<string>();

  constructor(changes: Changes, repository: AuthRepository, { rows, remnants }: OrganizationParts) {
    this.#changes = changes;
    this.#rows = rows;
    this.#remnants = remnants;
    this.#repository = repository;
  }

  find(name: string): Promise<Organization | undefined> {
    return this.#repository.organization(name);
  }

  /** @throws MusterError `organization_not_found`. */
  async require(name: string): Promise<Organization> {
    const organization = await this.#repository.organization(name);
    if (organization === undefined) throw new MusterError('organization_not_found', { organization: name });
    return organization;
  }

  /** All, or those the user belongs to. */
  async list(memberId: string | null): Promise<readonly OrganizationView[]> {
    let rows = this.#repository.read
      .selectFrom('organizations')
      .select(['id', 'name', 'created_at as createdAt'])
      .orderBy('name');
    if (memberId !== null) {
      rows = rows.where('id', 'in', (from) =>
        from.selectFrom('org_members').select('org_id').where('principal_id', '=', memberId),
      );
    }
    return rows.execute();
  }

  async get(id: string): Promise<OrganizationView> {
    return this.#repository.read
      .selectFrom('organizations')
      .select(['id', 'name', 'created_at as createdAt'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow(() => new MusterError('organization_not_found', { organization: id }));
  }

  async create(name: string, actor: Actor): Promise<OrganizationView> {
    const organization: Organization = { id: this.#changes.newId(), name };
    const { now } = this.#changes;
    await this.#changes.apply(
      { orgId: organization.id, actor, action: 'organization.create', target: name },
      async (trx) => {
        const taken = await trx.selectFrom('organizations').select('id').where('name', '=', name).executeTakeFirst();
        if (taken !== undefined) throw new MusterError('already_exists', { kind: 'organization', name });
        await insertOrganization(trx, organization, now);
      },
    );
    return { ...organization, createdAt: now };
  }

  /**
   * Goes with what is stored outside the transactions here: once the organization is deleted nothing of the part is
   * (`GuardFailed`), and what was stored before, the deletion sees.
   */
  present({ id, name }: Organization): Write {
    return isPresent({ id, name });
  }

  /** @throws MusterError `organization_not_found` from the moment the deletion begins. */
  assertPresent({ id, name }: Organization): void {
    if (this.#removed.has(id)) throw new MusterError('organization_not_found', { organization: name });
  }

  /**
   * Refused while it has nodes, whose agents would go on knocking, or something of a layer above that runs. Its name is
   * gone at once, and with it everything for everybody who looks: nobody belongs to it any more, no token of it is good.
   * The rows of it follow little by little.
   */
  async remove(organization: Organization, actor: Actor): Promise<void> {
    const { id } = organization;
    this.#removed.add(id);
    try {
      await this.#remove(organization, actor);
    } catch (error) {
      this.#removed.delete(id);
      throw error;
    }
    // Only requests that were let in before the deletion can still name it, and none of them lasts that long.
    const [oldest] = this.#removed;
    if (this.#removed.size > AUTH_LIMITS.removedOrganizations && oldest !== undefined) this.#removed.delete(oldest);
  }

  async #remove({ id, name }: Organization, actor: Actor): Promise<void> {
    await this.#changes.apply({ orgId: null, actor, action: 'organization.delete', target: name }, async (trx) => {
      for (const { inUse } of this.#rows) {
        const reason = (await inUse?.(trx, id)) ?? null;
        if (reason !== null) throw new MusterError('in_use', { kind: 'organization', name, reason });
      }
      await trx.deleteFrom('organizations').where('id', '=', id).execute();
      await trx.insertInto('deleted_organizations').values({ id, deleted_at: this.#changes.now }).execute();
    });
    this.#remnants.hurry();
  }

  async members(orgId: string): Promise<readonly { readonly name: string; readonly createdAt: number }[]> {
    return this.#repository.read
      .selectFrom('org_members as m')
      .innerJoin('principals as p', 'p.id', 'm.principal_id')
      .select(['p.name', 'm.created_at as createdAt'])
      .where('m.org_id', '=', orgId)
      .orderBy('p.name')
      .execute();
  }

  /** Users who belong to it and its services, by name; at most so many. */
  async people(orgId: string, most: number, { name, type }: Sought = {}): Promise<readonly Identity[]> {
    let rows = this.#repository.read
      .selectFrom('principals as p')
      .leftJoin('org_members as m', (join) => join.onRef('m.principal_id', '=', 'p.id').on('m.org_id', '=', orgId))
      .select(['p.id', 'p.name', 'p.type', 'p.server_admin'])
      .where((where) =>
        where.or([
          where.and([where('p.type', '=', 'user'), where('m.org_id', 'is not', null)]),
          where.and([where('p.type', '=', 'service'), where('p.org_id', '=', orgId)]),
        ]),
      );
    if (name !== undefined) rows = rows.where('p.name', '=', name);
    if (type !== undefined) rows = rows.where('p.type', '=', type);
    const found = await rows.orderBy('p.name').orderBy('p.type').limit(most).execute();
    return found.map(({ id, name: called, type, server_admin: admin }) => ({
      principalId: id,
      name: called,
      type,
      serverAdmin: admin === 1,
      publicKey: null,
    }));
  }

  /** Idempotent. @throws MusterError `not_found` when there is no such user. */
  async addMember(organization: Organization, user: string, actor: Actor): Promise<void> {
    const { now } = this.#changes;
    await this.#changes.apply({ orgId: organization.id, actor, action: 'member.add', target: user }, async (trx) =>
      insertMember(trx, organization.id, await userId(trx, user), now),
    );
  }

  /** Takes the user's groups and grants in the organization away, too. */
  async removeMember(organization: Organization, user: string, actor: Actor): Promise<void> {
    const orgId = organization.id;
    await this.#changes.apply({ orgId, actor, action: 'member.remove', target: user }, async (trx) => {
      const principalId = await userId(trx, user);
      const removed = await trx
        .deleteFrom('org_members')
        .where('org_id', '=', orgId)
        .where('principal_id', '=', principalId)
        .executeTakeFirst();
      if (removed.numDeletedRows === 0n) throw new MusterError('not_found', { kind: 'member', name: user });
      await endSessions(trx, principalId, orgId);
      const atDirectories = trx.deleteFrom('directory_users').where('org_id', '=', orgId);
      await atDirectories.where('principal_id', '=', principalId).execute();
      await forgetName(trx, orgId, 'user', user);
    });
  }
}

export async function userId(trx: Trx, name: string): Promise<string> {
  const user = await trx
    .selectFrom('principals')
    .select('id')
    .where('org_id', 'is', null)
    .where('name', '=', name)
    .executeTakeFirst();
  if (user === undefined) throw new MusterError('not_found', { kind: 'user', name });
  return user.id;
}
