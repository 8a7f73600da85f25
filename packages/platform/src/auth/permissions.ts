import { MusterError } from '../errors.js';
import { ADMINS, canonicalGroup, READERS, WRITERS } from './names.js';
import type { Identity, Permission } from './types.js';

/** Names of members by kind. Nodes and services are `clients`, as in Chef. */
export interface Members {
  readonly users: ReadonlySet<string>;
  readonly clients: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
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

/** What a permission is judged by, besides who asks. */
export interface Circumstances {
  readonly groups: Groups;
  readonly nodeGroups: readonly NodeGroup[];
  /** The node, user or job that the route names, when it names one. */
  readonly subject: string | undefined;
  /** Id of the principal who started the job that is the subject. */
  readonly starter?: string | undefined;
}

/** What a permission is: `docs/reference/permissions.md` is made from these. */
interface Right {
  /** Who has it: for that page, and for whoever is denied it. */
  readonly holders: string;
  /** Of the path's parameters, the one that it depends on. */
  readonly subject?: 'node' | 'name' | 'id';
  /**
   * Server administrators pass without being members where organizations are administered, not where jobs are run and
   * looked at.
   */
  readonly administration: boolean;
  readonly allows: (identity: Identity, about: Circumstances) => boolean;
}

const mayRead = (identity: Identity, { groups }: Circumstances) => holdsRole(READERS, identity, groups, true);
const mayStart = (identity: Identity, { groups }: Circumstances) => mayWrite(identity, groups);
const mayExecute = (identity: Identity, { groups, nodeGroups }: Circumstances) =>
  mayWrite(identity, groups) || nodeGroups.some((group) => includes(group.execute, identity, groups));
const isNamed = ({ type, name }: Identity, kind: Identity['type'], { subject }: Circumstances) =>
  type === kind && name === subject;

/** Sheet §7.3, decisions N13 and N14. That the caller belongs to the organization is checked before. */
export const RIGHTS: Readonly<Record<Permission, Right>> = {
  'push:read': {
    holders:
      'members of `push_job_readers`, and of `admins` unless that group is exclusive; any member of the organization while there is no such group',
    administration: false,
    allows: mayRead,
  },
  'push:job': {
    holders: 'who has `push:read` (`push_job_readers`, `admins`); who started the job and still has `push:execute`',
    subject: 'id',
    administration: false,
    allows: (identity, about) =>
      mayRead(identity, about) || (identity.principalId === about.starter && mayExecute(identity, about)),
  },
  'push:write': {
    holders: 'members of `push_job_writers`, and of `admins` unless that group is exclusive',
    administration: false,
    allows: mayStart,
  },
  'push:execute': {
    holders: 'who has `push:write` (`push_job_writers`, `admins`), or holds a grant on at least one node group',
    administration: false,
    allows: mayExecute,
  },
  'org:admin': {
    holders: 'members of `admins`; server administrators',
    administration: true,
    allows: (identity, { groups }) => identity.serverAdmin || inGroup(ADMINS, identity, groups),
  },
  'server:admin': {
    holders: 'server administrators',
    administration: true,
    allows: ({ serverAdmin }) => serverAdmin,
  },
  'node:self': {
    holders: 'the node that the route names; users and services who have `push:read` (`push_job_readers`, `admins`)',
    subject: 'node',
    administration: false,
    allows: (identity, about) =>
      identity.type === 'node' ? isNamed(identity, 'node', about) : mayRead(identity, about),
  },
  'user:self': {
    holders: 'the user that the route names; server administrators',
    subject: 'name',
    administration: true,
    allows: (identity, about) => identity.serverAdmin || isNamed(identity, 'user', about),
  },
  member: {
    holders: 'any member of the organization; outside an organization any user',
    administration: true,
    allows: () => true,
  },
};

export function allows(identity: Identity, permission: Permission, about: Circumstances): boolean {
  return RIGHTS[permission].allows(identity, about);
}

export function isAdministration(permission: Permission): boolean {
  return RIGHTS[permission].administration;
}

/** A denial that says what grants the right. */
export function forbidden(name: string, permission: Permission): MusterError {
  return new MusterError('forbidden', { name, permission, holders: RIGHTS[permission].holders.replaceAll('`', "'") });
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
function isRestricted(group: NodeGroup): boolean {
  const { users, clients, groups } = group.execute;
  return users.size + clients.size + groups.size > 0;
}

export function mayWrite(identity: Identity, groups: Groups): boolean {
  return holdsRole(WRITERS, identity, groups, false);
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
