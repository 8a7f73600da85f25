import { ADMINS, canonicalGroup } from './names.js';
import type { Identity } from './types.js';

/** Names of members by kind. Nodes and services are `clients`, as in Chef. */
export interface Members {
  readonly users: ReadonlySet<string>;
  readonly clients: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
}

/**
 * Members as things name them that are not groups, such as queues and runbooks: `alice` and `user:alice` are a user, `group:NAME`
 * a group, `client:NAME` a node or a service. Nodes choose their own names, so that none gets by its name what a user has.
 */
export function membersWritten(list: readonly string[]): Members {
  const members = { users: new Set<string>(), clients: new Set<string>(), groups: new Set<string>() };
  for (const { kind, name } of list.map(memberWritten)) {
    if (kind === 'group') members.groups.add(name);
    else if (kind === 'client') members.clients.add(name);
    else members.users.add(name);
  }
  return members;
}

/** One of them. */
export function memberWritten(written: string): { readonly kind: string; readonly name: string } {
  const [, kind = 'user', name = ''] = /^(?:(user|client|group):)?(.*)$/s.exec(written) ?? [];
  return { kind, name };
}

export interface Group extends Members {
  /** Its members alone hold what the group gives; otherwise admins do besides. */
  readonly exclusive?: boolean;
}

/** All groups of one organization, by canonical name. */
export type Groups = ReadonlyMap<string, Group>;

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

/**
 * Is the identity among these members, directly or through nested groups? Cycles are harmless; a missing group is empty. Names are of
 * users of this server: somebody else who is called so is not meant.
 */
export function includes(members: Members, identity: Identity, groups: Groups): boolean {
  if (identity.external === true) return false;
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

export function inGroup(name: string, identity: Identity, groups: Groups): boolean {
  const group = groups.get(name);
  return group !== undefined && includes(group, identity, groups);
}

/**
 * Admins hold what a role group gives, so that the first one does not lock them out; an exclusive one, as those of deployed
 * servers are (sheet §7.3), takes it from them. `open`: to every member, while there is no such group.
 */
export function holdsRole(role: string, identity: Identity, groups: Groups, open: boolean): boolean {
  const group = groups.get(role);
  if (group === undefined && open) return true;
  if (group !== undefined && includes(group, identity, groups)) return true;
  return group?.exclusive !== true && inGroup(ADMINS, identity, groups);
}

/** Has the node group grants at all? Then its nodes are restricted to those who hold one (N13). */
export function isRestricted(group: NodeGroup): boolean {
  const { users, clients, groups } = group.execute;
  return users.size + clients.size + groups.size > 0;
}

/**
 * Which of `names` the identity may not run a command on (N13). A node in a group with grants needs one of that
 * group's grants, or one of any other granting group the node is in; a node in no such group is open to whoever may
 * run commands on nodes in general (`open`). `nodesOf` tells the nodes of a group.
 */
export function deniedNodes(
  identity: Identity,
  names: readonly string[],
  about: { readonly groups: Groups; readonly nodeGroups: readonly NodeGroup[]; readonly open: boolean },
  nodesOf: (group: NodeGroup) => ReadonlySet<string>,
): readonly string[] {
  const restricted = new Set<string>();
  const granted = new Set<string>();
  for (const group of about.nodeGroups) {
    if (!isRestricted(group)) continue;
    const target = includes(group.execute, identity, about.groups) ? granted : restricted;
    for (const node of nodesOf(group)) target.add(node);
  }
  return names.filter((name) => !(granted.has(name) || (about.open && !restricted.has(name))));
}
