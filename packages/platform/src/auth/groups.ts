import { MusterError } from '../errors.js';
import type { Changes, Trx } from './changes.js';
import { AUTH_LIMITS } from './limits.js';
import { canonicalGroup, isDeployedSpelling } from './names.js';
import type { Group, Members } from './permissions.js';
import type { AuthRepository } from './repository.js';
import type { Rights } from './rights.js';
import type { Actor, Organization } from './types.js';

type MemberKind = 'user' | 'client' | 'group';

/** Members as REST takes and shows them. */
export interface MemberLists {
  readonly users: readonly string[];
  readonly clients: readonly string[];
  readonly groups: readonly string[];
}

export interface GroupView extends MemberLists {
  readonly name: string;
  /** Admins do not hold what it gives unless they are members. */
  readonly exclusive: boolean;
}

export function listed(members: Members): MemberLists {
  return {
    users: [...members.users].sort(),
    clients: [...members.clients].sort(),
    groups: [...members.groups].sort(),
  };
}

function viewOf(name: string, group: Group): GroupView {
  return { name, exclusive: group.exclusive === true, ...listed(group) };
}

export function memberRows(lists: MemberLists): readonly { readonly kind: MemberKind; readonly member: string }[] {
  const rows = (kind: MemberKind, names: readonly string[]) =>
    [...new Set(names)].map((member) => ({ kind, member: kind === 'group' ? canonicalGroup(member) : member }));
  return [...rows('user', lists.users), ...rows('client', lists.clients), ...rows('group', lists.groups)];
}

/** Rows per INSERT: both databases limit the parameters of one statement. */
const INSERT_ROWS = 500;

export async function inPieces<Row>(rows: readonly Row[], insert: (rows: Row[]) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < rows.length; at += INSERT_ROWS) await insert(rows.slice(at, at + INSERT_ROWS));
}

/** A group comes into being with its first member. @returns whether it has now */
export async function addToGroup(
  trx: Trx,
  orgId: string,
  group: string,
  kind: MemberKind,
  member: string,
  now: number,
): Promise<boolean> {
  const name = canonicalGroup(group);
  const { numInsertedOrUpdatedRows: made } = await trx
    .insertInto('groups')
    .values({ org_id: orgId, name, created_at: now, exclusive: isDeployedSpelling(group) ? 1 : 0 })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  await trx
    .insertInto('group_members')
    .values({ org_id: orgId, group_name: name, kind, member })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return made === 1n;
}

/**
 * Groups of users, clients (nodes and services) and other groups. Names need not exist: being listed does not help
 * somebody who does not belong to the organization (sheet §7.3).
 */
export class GroupDirectory {
  readonly #changes: Changes;
  readonly #repository: AuthRepository;
  readonly #rights: Rights;

  constructor(changes: Changes, repository: AuthRepository, rights: Rights) {
    this.#changes = changes;
    this.#repository = repository;
    this.#rights = rights;
  }

  async list(orgId: string): Promise<readonly GroupView[]> {
    const groups = await this.#repository.groups(orgId);
    return [...groups].map(([name, members]) => viewOf(name, members)).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async get(orgId: string, group: string): Promise<GroupView> {
    const name = canonicalGroup(group);
    const members = (await this.#repository.groups(orgId)).get(name);
    if (members === undefined) throw new MusterError('not_found', { kind: 'group', name });
    return viewOf(name, members);
  }

  /**
   * Creates the group or replaces its members. Whether it is exclusive stays as it is when nothing is said of it.
   * @param force also a name that is nearly a role's.
   * @throws MusterError `group_name_unlikely`.
   */
  async put(
    organization: Organization,
    group: string,
    content: MemberLists & { readonly exclusive?: boolean | undefined; readonly force?: boolean | undefined },
    actor: Actor,
  ): Promise<GroupView> {
    const orgId = organization.id;
    const name = canonicalGroup(group);
    const { exclusive, force = false, ...members } = content;
    const rows = memberRows(members);
    const role = this.#rights.likelyRole(group);
    if (role !== null && !force && !(await this.#repository.groups(orgId)).has(name)) {
      throw new MusterError('group_name_unlikely', { name: group, role });
    }
    const { now } = this.#changes;
    await this.#changes.apply(
      {
        orgId,
        actor,
        action: 'group.set',
        target: name,
        detail: {
          ...(exclusive === undefined ? {} : { exclusive }),
          users: members.users.join(' '),
          clients: members.clients.join(' '),
          groups: members.groups.join(' '),
        },
      },
      async (trx) => {
        const existing = await trx.selectFrom('groups').select('name').where('org_id', '=', orgId).execute();
        if (!existing.some((one) => one.name === name)) {
          if (existing.length >= AUTH_LIMITS.groupsPerOrganization) {
            throw new MusterError('too_busy', { what: 'groups', limit: AUTH_LIMITS.groupsPerOrganization });
          }
          const alone = exclusive ?? isDeployedSpelling(group);
          const row = { org_id: orgId, name, created_at: now, exclusive: alone ? 1 : 0 };
          await trx.insertInto('groups').values(row).execute();
        } else if (exclusive !== undefined) {
          await trx
            .updateTable('groups')
            .set({ exclusive: exclusive ? 1 : 0 })
            .where('org_id', '=', orgId)
            .where('name', '=', name)
            .execute();
        }
        await trx.deleteFrom('group_members').where('org_id', '=', orgId).where('group_name', '=', name).execute();
        await inPieces(rows, (piece) =>
          trx
            .insertInto('group_members')
            .values(piece.map((row) => ({ org_id: orgId, group_name: name, ...row })))
            .execute(),
        );
      },
    );
    return this.get(orgId, name);
  }

  async remove(organization: Organization, group: string, actor: Actor): Promise<void> {
    const orgId = organization.id;
    const name = canonicalGroup(group);
    await this.#changes.apply({ orgId, actor, action: 'group.delete', target: name }, async (trx) => {
      await trx.deleteFrom('group_members').where('org_id', '=', orgId).where('group_name', '=', name).execute();
      const removed = await trx
        .deleteFrom('groups')
        .where('org_id', '=', orgId)
        .where('name', '=', name)
        .executeTakeFirst();
      if (removed.numDeletedRows === 0n) throw new MusterError('not_found', { kind: 'group', name });
    });
  }
}
