import { ADMINS, canonicalGroup, READERS, WRITERS } from './names.js';
import type { Identity, Permission } from './types.js';

/** Names of members by kind. Nodes and services are `clients`, as in Chef. */
export interface Members {
  readonly users: ReadonlySet<string>;
  readonly clients: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
}

/** All groups of one organization, by canonical name. */
export type Groups = ReadonlyMap<string, Members>;

/** A node group: listed, or selected by `query`; `execute` names who may run commands on it. */
export interface NodeGroup {
  readonly name: string;
  readonly query: string | null;
  readonly nodes: ReadonlySet<string>;
  readonly execute: Members;
}

export type EventAction = 'publish' | 'subscribe';

/** Event types that fit the pattern are for its holders; see `events/access.ts`. */
export interface EventGrant {
  readonly action: EventAction;
  /** A type, or the beginning of types and `*`. */
  readonly pattern: string;
  readonly holders: Members;
}

/** What a permission is judged by, besides who asks. */
export interface Circumstances {
  readonly groups: Groups;
  readonly nodeGroups: readonly NodeGroup[];
  /** The node or user that the route names, when it names one. */
  readonly subject: string | undefined;
}

/** Is the identity among these members, directly or through nested groups? Cycles are harmless; a missing group is empty. */
export function includes(members: Members, identity: Identity, groups: Groups): boolean {
  const seen = new Set<string>();
  const pending: Members[] = [members];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const names = identity.type === 'user' ? next.users : next.clients;
    if (names.has(identity.name)) return true;
    for (const nested of next.groups) {
      const name = canonicalGroup(nested);
      const group = groups.get(name);
      if (group === undefined || seen.has(name)) continue;
      seen.add(name);
      pending.push(group);
    }
  }
  return false;
}

function inGroup(name: string, identity: Identity, groups: Groups): boolean {
  const group = groups.get(name);
  return group !== undefined && includes(group, identity, groups);
}

/** Has the node group grants at all? Then its nodes are restricted to those who hold one (N13). */
function isRestricted(group: NodeGroup): boolean {
  const { users, clients, groups } = group.execute;
  return users.size + clients.size + groups.size > 0;
}

export function mayWrite(identity: Identity, groups: Groups): boolean {
  // Sheet §7.3: where the group exists, admins have no special right; where it does not, they stand in for it.
  return inGroup(groups.has(WRITERS) ? WRITERS : ADMINS, identity, groups);
}

/** The table of sheet §7.3 and decisions N13 and N14. That the caller belongs to the organization is checked before. */
export function allows(identity: Identity, permission: Permission, about: Circumstances): boolean {
  const { groups, nodeGroups, subject } = about;
  const mayRead = () => !groups.has(READERS) || inGroup(READERS, identity, groups);
  switch (permission) {
    case 'push:read':
      return mayRead();
    case 'push:write':
      return mayWrite(identity, groups);
    case 'push:execute':
      return mayWrite(identity, groups) || nodeGroups.some((group) => includes(group.execute, identity, groups));
    case 'org:admin':
      return identity.serverAdmin || inGroup(ADMINS, identity, groups);
    case 'server:admin':
      return identity.serverAdmin;
    case 'node:self':
      return identity.type === 'node' ? identity.name === subject : mayRead();
    case 'user:self':
      return identity.serverAdmin || (identity.type === 'user' && identity.name === subject);
    case 'member':
      return true;
  }
}

/**
 * Which of `names` the identity may not run a command on (N13). A node in a group with grants needs one of that
 * group's grants, or one of any other granting group the node is in; a node in no such group is open to whoever may
 * start jobs at all. `nodesOf` tells the nodes of a group.
 */
export function deniedNodes(
  identity: Identity,
  names: readonly string[],
  about: Pick<Circumstances, 'groups' | 'nodeGroups'>,
  nodesOf: (group: NodeGroup) => ReadonlySet<string>,
): readonly string[] {
  const open = mayWrite(identity, about.groups);
  const restricted = new Set<string>();
  const granted = new Set<string>();
  for (const group of about.nodeGroups) {
    if (!isRestricted(group)) continue;
    const target = includes(group.execute, identity, about.groups) ? granted : restricted;
    for (const node of nodesOf(group)) target.add(node);
  }
  return names.filter((name) => !(granted.has(name) || (open && !restricted.has(name))));
}
