import type { Store } from '@muster/store';
import { MusterError } from '../errors.js';
import { likelyRole } from './likely-role.js';
import { ADMINS, READERS } from './names.js';
import { type Groups, holdsRole, inGroup, type Members, type NodeGroup } from './permissions.js';
import type { Identity, Permission } from './types.js';

/** What a permission is judged by, besides who asks. */
export interface Circumstances {
  readonly groups: Groups;
  /** Of the organization, for rights that depend on their grants. */
  readonly nodeGroups: readonly NodeGroup[];
  /** What the route names: a node, a user, the id of a thing of the layer. */
  readonly subject: string | undefined;
  /** Id of the principal whose thing the subject is, once that was looked up. */
  readonly owner?: string | undefined;
  /** Who may besides, as the subject itself says, once that was looked up. */
  readonly admitted?: Admitted | undefined;
}

/** Those whom a subject names itself. */
export interface Admitted extends Members {
  /** And all who have this role. */
  readonly role?: string;
}

/** What a permission is: each layer declares its own. `docs/reference/permissions.md` is made from these. */
export interface Right {
  /** Who has it: for that page, and for whoever is denied it. */
  readonly holders: string;
  /** Of the path's parameters, the one that it depends on. */
  readonly subject?: 'node' | 'name' | 'id' | 'queue' | 'runbook';
  /** It depends on the grants of node groups. */
  readonly byNodeGroup?: true;
  /**
   * Server administrators pass without being members where organizations are administered, not where work is run and
   * looked at.
   */
  readonly administration: boolean;
  readonly allows: (identity: Identity, about: Circumstances) => boolean;
  /** Id of the principal whose thing the subject is; asked only when the caller has not the right without that. */
  readonly ownerOf?: (read: Store['read'], orgId: string, subject: string) => Promise<string | undefined>;
  /** Who may besides, as the subject itself says, such as a queue of its writers; asked as `ownerOf` is. */
  readonly admittedTo?: (read: Store['read'], orgId: string, subject: string) => Promise<Admitted | undefined>;
  /** What somebody is told who lacks it, where that is not simply who has it. */
  readonly refusal?: (identity: Identity) => MusterError | undefined;
}

/** What one layer declares. */
export interface DeclaredRights {
  readonly rights: Readonly<Partial<Record<Permission, Right>>>;
  /** Groups that give rights by their names. */
  readonly roles: readonly string[];
}

/** Who may look at nodes, and at the push jobs on them (sheet §7.3). */
export const mayRead = (identity: Identity, { groups }: Circumstances): boolean =>
  holdsRole(READERS, identity, groups, true);

export const READERS_HOLD =
  'members of `push_job_readers`, and of `admins` unless that group is exclusive; any member of the organization while there is no such group';

const isNamedUser = ({ type, name }: Identity, { subject }: Circumstances): boolean =>
  type === 'user' && name === subject;

/** Those of the platform itself. That the caller belongs to the organization is checked before. */
export const PLATFORM_RIGHTS: DeclaredRights = {
  roles: [ADMINS, READERS, 'event_readers', 'event_writers', 'event_relays'],
  rights: {
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
    'user:self': {
      holders: 'the user that the route names; server administrators',
      subject: 'name',
      administration: true,
      allows: (identity, about) => identity.serverAdmin || isNamedUser(identity, about),
    },
    'user:consent': {
      holders: 'the user that the route names, and nobody else',
      subject: 'name',
      administration: true,
      allows: isNamedUser,
    },
    'node:read': { holders: READERS_HOLD, administration: false, allows: mayRead },
    'secret:use': {
      holders:
        'users and services of the organization. A secret is used by its owner, by whom it names, and by `admins`; it is changed, shared and deleted by its owner, and by `admins`',
      administration: false,
      allows: ({ type }) => type !== 'node',
    },
    member: {
      holders: 'any member of the organization; outside an organization any user',
      administration: true,
      allows: () => true,
    },
  },
};

/** What somebody does not have, and who does, for people. */
export interface Lack {
  readonly permission: string;
  readonly holders: string;
}

/** All rights of a process, of whatever layers it has. A permission that none of them declares is nobody's. */
export class Rights {
  readonly #rights = new Map<string, Right>();
  readonly #roles: readonly string[];

  constructor(declared: readonly DeclaredRights[]) {
    for (const { rights } of declared) {
      for (const [permission, right] of Object.entries(rights)) {
        if (this.#rights.has(permission)) throw new Error(`two layers declare the right ${permission}`);
        this.#rights.set(permission, right);
      }
    }
    this.#roles = declared.flatMap(({ roles }) => roles);
  }

  has(permission: string): boolean {
    return this.#rights.has(permission);
  }

  of(permission: Permission): Right {
    const right = this.#rights.get(permission);
    if (right === undefined) throw new Error(`no layer declares the right ${permission}`);
    return right;
  }

  allows(identity: Identity, permission: Permission, about: Circumstances): boolean {
    return this.of(permission).allows(identity, about);
  }

  /** All that somebody has in an organization, by name. Who does not belong to it has what administration is. */
  held(identity: Identity, about: Circumstances, member: boolean): readonly Permission[] {
    const found = [...this.#rights].filter(
      ([, right]) => (member || right.administration) && right.allows(identity, about),
    );
    return found.map(([permission]) => permission as Permission).sort();
  }

  /** What somebody lacks in an organization who has what is held there, by name. */
  lacking(held: ReadonlySet<string>): readonly Lack[] {
    const lacked = [...this.#rights.keys()].filter((permission) => !held.has(permission)).sort();
    return lacked.map((permission) => this.lack(permission as Permission));
  }

  /** Without the marks of the page that is made from it. */
  lack(permission: Permission): Lack {
    return { permission, holders: this.of(permission).holders.replaceAll('`', "'") };
  }

  /** A denial that says what grants the right. */
  forbidden(name: string, permission: Permission): MusterError {
    return new MusterError('forbidden', { name, ...this.lack(permission) });
  }

  /** The role that was probably meant by the name of a group that is none. */
  likelyRole(group: string): string | null {
    return likelyRole(group, this.#roles);
  }
}
