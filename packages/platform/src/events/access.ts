import { EVERY_TYPE, type EventAccess, OWN_TYPES, type OwnedTypes, overlap, type TypeRules } from '@muster/fabric';
import { type EventAction, type EventGrant, type Groups, holdsRole, includes } from '../auth/permissions.js';
import type { Rights } from '../auth/rights.js';
import type { Identity, Organization, Permission } from '../auth/types.js';
import type { EventFamily } from '../log/own-events.js';

/** Of a relay, which speaks for all. */
const OTHERS_TYPES: TypeRules = { granted: [], restricted: OWN_TYPES, open: ['*'] };

export const EVENT_READERS = 'event_readers';
export const EVENT_WRITERS = 'event_writers';
export const EVENT_RELAYS = 'event_relays';

/** What somebody's access to events is judged by. */
export interface EventRights {
  readonly groups: Groups;
  readonly grants: readonly EventGrant[];
}

/**
 * What a member of the organization may do with events. Where a grant fits a type, its holders alone may; nobody
 * publishes Muster's own types, which is why no grant to publish may fit one of them.
 */
export function eventAccess(
  identity: Identity,
  organization: Organization,
  rights: EventRights,
  followers: Followers,
): EventAccess {
  const { groups } = rights;
  const relays = groups.get(EVENT_RELAYS);
  const relay = relays !== undefined && includes(relays, identity, groups);
  return {
    org: organization.name,
    principal: `${organization.name}/${identity.name}`,
    kind: identity.type,
    relay,
    // Its own name is one of those that a relay may speak for. So no grant to anybody costs a tree its connections.
    publish: relay ? OTHERS_TYPES : publishing(identity, rights),
    // It hands out to each of its clients what that client may follow: what it lacked itself would be missing there, unsaid.
    subscribe: relay ? EVERY_TYPE : subscribing(identity, rights, followers),
  };
}

function publishing(identity: Identity, rights: EventRights): TypeRules {
  const { held, missing } = grantsOf('publish', identity, rights);
  if (!holdsRole(EVENT_WRITERS, identity, rights.groups, true)) return { granted: held, restricted: [], open: [] };
  return { granted: held, restricted: [...OWN_TYPES, ...missing], open: ['*'] };
}

function subscribing(identity: Identity, rights: EventRights, followers: Followers): TypeRules {
  const { held, missing } = grantsOf('subscribe', identity, rights);
  const readsOthers = holdsRole(EVENT_READERS, identity, rights.groups, true);
  const own = (permitted: boolean) => followers.own(identity, rights.groups, permitted);
  const owned = followers.owned(identity, rights.groups, missing);
  const more = owned.length > 0 && { owned };
  if (!readsOthers) return { granted: held, restricted: missing, open: own(true), ...more };
  return { granted: held, restricted: [...own(false), ...missing], open: ['*'], ...more };
}

/**
 * Who may follow what Muster itself tells, as the layers of this process have declared it. Types that none of them declares are told
 * by nobody: `OwnEvents` is the only way to tell one, and a test finds those that no layer declares.
 */
export class Followers {
  readonly #rights: Rights;
  readonly #families: readonly EventFamily[];

  constructor(rights: Rights, families: readonly EventFamily[]) {
    this.#rights = rights;
    this.#families = families;
    const known = new Map<string, string | null>();
    for (const { prefix, followers, owners } of families) {
      if (!OWN_TYPES.some((types) => types === `${prefix}*`)) throw new Error(`others may publish ${prefix}*, too`);
      if (followers !== null && !rights.has(followers)) throw new Error(`no layer declares who may follow ${prefix}*`);
      if (owners !== null && !rights.has(owners.permission)) throw new Error(`no layer declares who owns ${prefix}*`);
      if (known.has(prefix) && known.get(prefix) !== followers)
        throw new Error(`who may follow ${prefix}* is declared twice`);
      known.set(prefix, followers);
    }
  }

  /** The types that somebody may follow, or may not, besides those that whoever follows others may. */
  own(identity: Identity, groups: Groups, permitted: boolean): readonly string[] {
    const types = new Set<string>();
    for (const { prefix, followers } of this.#families) {
      if (followers !== null && this.#has(identity, groups, followers) === permitted) types.add(`${prefix}*`);
    }
    return [...types];
  }

  /** Of the types that somebody may not follow: the events of what is theirs. @param missing restricted to others */
  owned(identity: Identity, groups: Groups, missing: readonly string[]): readonly OwnedTypes[] {
    return this.#families.flatMap(({ prefix, followers, owners }) => {
      if (owners === null || followers === null || this.#has(identity, groups, followers)) return [];
      if (!this.#has(identity, groups, owners.permission)) return [];
      const pattern = `${prefix}*`;
      const restricted = missing.filter((each) => overlap(each, pattern));
      return [{ pattern, attribute: owners.attribute, value: owners.nameOf(identity), restricted }];
    });
  }

  #has(identity: Identity, groups: Groups, permission: string): boolean {
    return this.#rights.allows(identity, permission as Permission, { groups, nodeGroups: [], subject: undefined });
  }
}

function grantsOf(action: EventAction, identity: Identity, { groups, grants }: EventRights) {
  const held: string[] = [];
  const missing: string[] = [];
  for (const grant of grants) {
    if (grant.action !== action) continue;
    (includes(grant.holders, identity, groups) ? held : missing).push(grant.pattern);
  }
  return { held, missing };
}

/** Does the pattern fit any of Muster's own types? */
export function fitsOwnType(pattern: string): boolean {
  return OWN_TYPES.some((own) => {
    const prefix = own.slice(0, -1);
    return pattern.startsWith(prefix) || (pattern.endsWith('*') && prefix.startsWith(pattern.slice(0, -1)));
  });
}
