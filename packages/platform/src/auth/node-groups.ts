import { MusterError } from '../errors.js';
import type { Changes } from './changes.js';
import { inPieces, listed, type MemberLists, memberRows } from './groups.js';
import { AUTH_LIMITS } from './limits.js';
import { deniedNodes, isRestricted, type NodeGroup } from './permissions.js';
import type { AuthRepository } from './repository.js';
import type { Actor, Identity, Organization } from './types.js';

/** What the nodes layer knows and groups need: which nodes a selector matches. */
export interface NodeSelection {
  /** Names of the organization's nodes that match. */
  select(orgId: string, query: string): Iterable<string>;
  /** @throws MusterError `invalid_selector`. */
  check(query: string): void;
}

export interface NodeGroupView {
  readonly name: string;
  /** Null for a selected group. */
  readonly nodes: readonly string[] | null;
  /** Null for a listed group. */
  readonly query: string | null;
  readonly execute: MemberLists;
}

function view(group: NodeGroup): NodeGroupView {
  const { name, query, execute } = group;
  return { name, query, nodes: query === null ? [...group.nodes].sort() : null, execute: listed(execute) };
}

/** Named sets of nodes ("entity groups", Push Jobs §5.3.1) and the EXECUTE right on them (§5.3.2, N13). */
export class NodeGroupDirectory {
  readonly #changes: Changes;
  readonly #repository: AuthRepository;
  readonly #selection: NodeSelection;

  constructor(changes: Changes, repository: AuthRepository, selection: NodeSelection) {
    this.#changes = changes;
    this.#repository = repository;
    this.#selection = selection;
  }

  async list(orgId: string): Promise<readonly NodeGroupView[]> {
    return (await this.#repository.nodeGroups(orgId)).map(view);
  }

  async get(orgId: string, name: string): Promise<NodeGroupView> {
    const group = await this.#find(orgId, name);
    if (group === undefined) throw new MusterError('not_found', { kind: 'node group', name });
    return view(group);
  }

  /** The nodes of a group now, listed or selected; undefined when there is no such group. */
  async nodeGroup(org: Organization, name: string): Promise<readonly string[] | undefined> {
    const group = await this.#find(org.id, name);
    return group === undefined ? undefined : [...this.#nodesOf(org.id, group)].sort();
  }

  /**
   * Which of these nodes the caller may not run commands on (N13). That it may run any at all was checked before.
   * @param open whether it may on nodes that no group restricts.
   */
  async denied(
    caller: Identity,
    org: Organization,
    names: readonly string[],
    open: boolean,
  ): Promise<readonly string[]> {
    const [groups, nodeGroups] = await Promise.all([
      this.#repository.groups(org.id),
      this.#repository.nodeGroups(org.id),
    ]);
    return deniedNodes(caller, names, { groups, nodeGroups, open }, (group) => this.#nodesOf(org.id, group));
  }

  /** The groups with grants that the node is in: whoever runs commands on it needs one of their grants (N13). */
  async restricting(org: Organization, node: string): Promise<readonly NodeGroup[]> {
    const groups = await this.#repository.nodeGroups(org.id);
    return groups.filter((group) => isRestricted(group) && this.#nodesOf(org.id, group).has(node));
  }

  async #find(orgId: string, name: string): Promise<NodeGroup | undefined> {
    return (await this.#repository.nodeGroups(orgId)).find((group) => group.name === name);
  }

  #nodesOf(orgId: string, group: NodeGroup): ReadonlySet<string> {
    return group.query === null ? group.nodes : new Set(this.#selection.select(orgId, group.query));
  }

  /** Creates the group or replaces all of it. */
  async put(
    organization: Organization,
    name: string,
    content: {
      readonly nodes: readonly string[] | null;
      readonly query: string | null;
      readonly execute: MemberLists;
    },
    actor: Actor,
  ): Promise<NodeGroupView> {
    const { query } = content;
    if (query !== null) this.#selection.check(query);
    const orgId = organization.id;
    const nodes = [...new Set(content.nodes ?? [])];
    const grants = memberRows(content.execute);
    const { now } = this.#changes;
    await this.#changes.apply(
      {
        orgId,
        actor,
        action: 'node_group.set',
        target: name,
        detail: {
          query,
          nodes: nodes.length,
          execute: grants.map(({ kind, member }) => `${kind}:${member}`).join(' '),
        },
      },
      async (trx) => {
        const existing = await trx.selectFrom('node_groups').select('name').where('org_id', '=', orgId).execute();
        const known = existing.some((one) => one.name === name);
        if (!known && existing.length >= AUTH_LIMITS.groupsPerOrganization) {
          throw new MusterError('too_busy', { what: 'node groups', limit: AUTH_LIMITS.groupsPerOrganization });
        }
        await trx
          .insertInto('node_groups')
          .values({ org_id: orgId, name, query, created_at: now, updated_at: now })
          .onConflict((conflict) => conflict.columns(['org_id', 'name']).doUpdateSet({ query, updated_at: now }))
          .execute();
        for (const table of ['node_group_members', 'node_group_grants'] as const) {
          await trx.deleteFrom(table).where('org_id', '=', orgId).where('group_name', '=', name).execute();
        }
        await inPieces(nodes, (piece) =>
          trx
            .insertInto('node_group_members')
            .values(piece.map((node) => ({ org_id: orgId, group_name: name, node })))
            .execute(),
        );
        await inPieces(grants, (piece) =>
          trx
            .insertInto('node_group_grants')
            .values(piece.map((grant) => ({ org_id: orgId, group_name: name, ...grant })))
            .execute(),
        );
      },
    );
    return this.get(orgId, name);
  }

  async remove(organization: Organization, name: string, actor: Actor): Promise<void> {
    const orgId = organization.id;
    await this.#changes.apply({ orgId, actor, action: 'node_group.delete', target: name }, async (trx) => {
      for (const table of ['node_group_members', 'node_group_grants'] as const) {
        await trx.deleteFrom(table).where('org_id', '=', orgId).where('group_name', '=', name).execute();
      }
      const removed = await trx
        .deleteFrom('node_groups')
        .where('org_id', '=', orgId)
        .where('name', '=', name)
        .executeTakeFirst();
      if (removed.numDeletedRows === 0n) throw new MusterError('not_found', { kind: 'node group', name });
    });
  }
}
