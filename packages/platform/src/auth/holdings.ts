import { canonicalGroup } from './names.js';
import { type Groups, includes, type Members, type NodeGroup } from './permissions.js';
import type { Rights } from './rights.js';
import type { Identity, Permission } from './types.js';

/** What gives somebody a permission. */
export type Reason =
  /** Whoever belongs to the organization has it. */
  | { readonly kind: 'member' }
  | { readonly kind: 'server_admin' }
  /** A group of which they are a member, directly; it may be nested in the one that gives it. */
  | { readonly kind: 'group'; readonly name: string }
  /** A grant of a node group that names them. */
  | { readonly kind: 'node_group'; readonly name: string };

export interface Holding {
  readonly permission: Permission;
  /** Each is enough; none: only all of them together are. */
  readonly by: readonly Reason[];
}

interface Table {
  readonly groups: Groups;
  readonly nodeGroups: readonly NodeGroup[];
}

/**
 * What somebody may do in the organization whatever a route names there, and what gives it to them. Who is no `member` has what
 * administration is.
 */
export function holdingsOf(rights: Rights, identity: Identity, table: Table, member = true): readonly Holding[] {
  const held = (who: Identity, { groups, nodeGroups }: Table) =>
    new Set(rights.held(who, { groups, nodeGroups, subject: undefined }, member));
  const plain: Identity = { ...identity, serverAdmin: false };
  const alone = without(plain, table, null);
  const causes: readonly (readonly [Reason, ReadonlySet<Permission>])[] = [
    ...(member ? ([[{ kind: 'member' }, held(plain, alone)]] as const) : []),
    ...(identity.serverAdmin ? ([[{ kind: 'server_admin' }, held(identity, alone)]] as const) : []),
    ...groupsOf(identity, table.groups).map((name) => {
      return [{ kind: 'group', name }, held(plain, without(plain, table, { kind: 'group', name }))] as const;
    }),
    ...grantsOf(identity, table.nodeGroups).map((name) => {
      return [{ kind: 'node_group', name }, held(plain, without(plain, table, { kind: 'node_group', name }))] as const;
    }),
  ];
  return [...held(identity, table)].map((permission) => {
    const by = causes.filter(([, found]) => found.has(permission)).map(([reason]) => reason);
    // What every member has needs no other reason.
    return { permission, by: by[0]?.kind === 'member' ? by.slice(0, 1) : by };
  });
}

/** The groups that name somebody, in their order. */
export function groupsOf(identity: Identity, groups: Groups): readonly string[] {
  return [...groups]
    .filter(([, members]) => names(members, identity))
    .map(([name]) => name)
    .sort();
}

/** The node groups with a grant that somebody has, directly or through groups. */
export function grantedTo(identity: Identity, { groups, nodeGroups }: Table): readonly string[] {
  return nodeGroups
    .filter(({ execute }) => includes(execute, identity, groups))
    .map(({ name }) => name)
    .sort();
}

function grantsOf(identity: Identity, nodeGroups: readonly NodeGroup[]): readonly string[] {
  return nodeGroups
    .filter(({ execute }) => names(execute, identity))
    .map(({ name }) => name)
    .sort();
}

function names(members: Members, { type, name }: Identity): boolean {
  return (type === 'user' ? members.users : members.clients).has(name);
}

/** As if nothing named the identity but this. */
function without(identity: Identity, { groups, nodeGroups }: Table, kept: Reason | null): Table {
  const keeps = (kind: Reason['kind'], name: string) =>
    kept !== null && kept.kind === kind && 'name' in kept && canonicalGroup(kept.name) === canonicalGroup(name);
  return {
    groups: new Map(
      [...groups].map(([name, group]) => [
        name,
        keeps('group', name) || !names(group, identity) ? group : { ...group, ...withoutName(group, identity) },
      ]),
    ),
    nodeGroups: nodeGroups.map((group) =>
      keeps('node_group', group.name) || !names(group.execute, identity)
        ? group
        : { ...group, execute: withoutName(group.execute, identity) },
    ),
  };
}

function withoutName(members: Members, { type, name }: Identity): Members {
  const drop = (list: ReadonlySet<string>) => new Set([...list].filter((one) => one !== name));
  const { users, clients, groups } = members;
  return type === 'user' ? { users: drop(users), clients, groups } : { users, clients: drop(clients), groups };
}
