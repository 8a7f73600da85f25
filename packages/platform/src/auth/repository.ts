import type { KeyObject } from 'node:crypto';
import type { Clock } from '@muster/base';
import { readPublicKey } from '@muster/signing';
import type { Schema, Store } from '@muster/store';
import { type Kysely, sql } from 'kysely';
import { Cache } from './cache.js';
import type { LdapSettings } from './issuers/ldap/types.js';
import type { Issuer, SignIn } from './issuers/types.js';
import { AUTH_LIMITS } from './limits.js';
import { canonicalGroup, ORGANIZATION_NAME } from './names.js';
import type { EventGrant, Groups, Members, NodeGroup } from './permissions.js';
import { readSession } from './sessions/rows.js';
import type { Session } from './sessions/types.js';
import type { Organization, PrincipalType } from './types.js';

/** Somebody who may be the caller: a name may belong to a user and to a client at once (sheet §1.5). */
export interface Candidate {
  readonly principalId: string;
  readonly type: PrincipalType;
  readonly name: string;
  readonly serverAdmin: boolean;
  /** Belongs to the organization that was asked about. */
  readonly member: boolean;
  /** Also those that have expired: whoever signs with one is told so. */
  readonly keys: readonly CandidateKey[];
}

export interface CandidateKey {
  readonly pem: string;
  readonly key: KeyObject;
  /** Null: it does not. */
  readonly expiresMs: number | null;
}

/** Whom an access token stands for. */
export interface Bearer {
  readonly principalId: string;
  readonly name: string;
  /** Where its requests go whose paths name none; null: that was not said. */
  readonly organization: Organization | null;
  /** Whom the user signed in at; then it is good in that organization alone. null: it was made by hand. */
  readonly issuerId: string | null;
  readonly expiresAt: number;
}

/** Organizations of a user. */
export interface Home {
  readonly number: number;
  /** If it is one. */
  readonly organization: Organization | null;
}

/** Issuers that are tried for one token. */
const MOST_ISSUERS = 50;

type Reader = Kysely<Schema>;

/** What a change may touch: the name of one new client, or anything. */
export type ChangeScope = { readonly orgId: string; readonly client: string } | 'anything';

interface MemberRow {
  readonly kind: 'user' | 'client' | 'group';
  readonly member: string;
}

interface MutableMembers extends Members {
  readonly users: Set<string>;
  readonly clients: Set<string>;
  readonly groups: Set<string>;
}

const noMembers = (): MutableMembers => ({ users: new Set(), clients: new Set(), groups: new Set() });

function add(members: MutableMembers, row: MemberRow): void {
  switch (row.kind) {
    case 'user':
      members.users.add(row.member);
      break;
    case 'client':
      members.clients.add(row.member);
      break;
    case 'group':
      members.groups.add(canonicalGroup(row.member));
      break;
  }
}

const organizationName = new RegExp(ORGANIZATION_NAME);

/**
 * What every request asks: who is this, and what are the groups. Answered from memory after the first time, because
 * after a server restart 10,000 nodes ask for their configuration at once. Whoever changes something calls `changed`.
 */
export class AuthRepository {
  readonly #read: Reader;
  readonly #organizations: Cache<Organization>;
  readonly #principals: Cache<readonly Candidate[]>;
  readonly #bearers: Cache<Bearer>;
  readonly #sessions: Cache<Session>;
  readonly #groups: Cache<Groups>;
  readonly #nodeGroups: Cache<readonly NodeGroup[]>;
  readonly #eventGrants: Cache<readonly EventGrant[]>;
  readonly #issuers: Cache<readonly Issuer[]>;
  readonly #tenants: Cache<Organization>;
  readonly #homes: Cache<Home>;
  readonly #listeners = new Set<(scope: ChangeScope) => void>();

  constructor(store: Store, clock: Clock) {
    const ttlMs = AUTH_LIMITS.cacheTtlMs;
    this.#read = store.read;
    this.#organizations = new Cache({ clock, size: AUTH_LIMITS.organizationCache, ttlMs });
    this.#principals = new Cache({ clock, size: AUTH_LIMITS.principalCache, ttlMs });
    this.#bearers = new Cache({ clock, size: AUTH_LIMITS.principalCache, ttlMs });
    this.#sessions = new Cache({ clock, size: AUTH_LIMITS.principalCache, ttlMs });
    this.#groups = new Cache({ clock, size: AUTH_LIMITS.organizationCache, ttlMs });
    this.#nodeGroups = new Cache({ clock, size: AUTH_LIMITS.organizationCache, ttlMs });
    this.#eventGrants = new Cache({ clock, size: AUTH_LIMITS.organizationCache, ttlMs });
    this.#issuers = new Cache({ clock, size: AUTH_LIMITS.organizationCache, ttlMs });
    this.#tenants = new Cache({ clock, size: AUTH_LIMITS.organizationCache, ttlMs });
    this.#homes = new Cache({ clock, size: AUTH_LIMITS.principalCache, ttlMs });
  }

  /** For lists and other reads that are not on the path of every request. */
  get read(): Reader {
    return this.#read;
  }

  async organization(name: string): Promise<Organization | undefined> {
    // Not every text can be asked for: PostgreSQL takes none with NUL in it.
    if (!organizationName.test(name)) return undefined;
    return this.#organizations.get(name, () =>
      this.#read.selectFrom('organizations').select(['id', 'name']).where('name', '=', name).executeTakeFirst(),
    );
  }

  async organizationById(id: string): Promise<Organization | undefined> {
    return this.#read.selectFrom('organizations').select(['id', 'name']).where('id', '=', id).executeTakeFirst();
  }

  /** Everybody of this name: users, and clients of the organization. Outside an organization users only. */
  async candidates(orgId: string | null, name: string): Promise<readonly Candidate[]> {
    const found = await this.#principals.get(principalKey(orgId, name), async () => {
      const candidates = await readCandidates(this.#read, orgId, name);
      return candidates.length === 0 ? undefined : candidates;
    });
    return found ?? [];
  }

  /** A user of this name belongs to the organization. */
  async isMember(orgId: string, user: string): Promise<boolean> {
    return (await this.candidates(orgId, user)).some(({ type, member }) => type === 'user' && member);
  }

  bearer(hash: string): Promise<Bearer | undefined> {
    return this.#bearers.get(hash, async () => {
      const row = await this.#read
        .selectFrom('access_tokens as t')
        .innerJoin('principals as p', 'p.id', 't.principal_id')
        .leftJoin('organizations as o', (join) =>
          join.on((on) => on('o.id', '=', on.fn.coalesce('p.org_id', 't.org_id'))),
        )
        .select([
          'p.id as principalId',
          'p.name',
          't.expires_at as expiresAt',
          't.issuer_id as issuerId',
          'o.id as orgId',
          'o.name as organization',
        ])
        .where('t.hash', '=', hash)
        // Of an organization that was deleted there may still be tokens.
        .where((where) => where.or([where('p.org_id', 'is', null), where('o.id', 'is not', null)]))
        .executeTakeFirst();
      if (row === undefined) return undefined;
      const { orgId, organization: name, ...bearer } = row;
      return { ...bearer, organization: orgId === null || name === null ? null : { id: orgId, name } };
    });
  }

  /** By the hash of its secret, whether or not it has ended by time. */
  session(hash: string): Promise<Session | undefined> {
    return this.#sessions.get(hash, () => readSession(this.#read, hash));
  }

  /** Directories of all organizations, as they are now. */
  async directories(): Promise<readonly Issuer[]> {
    return this.#readIssuers((rows) => rows.where('i.kind', '=', 'ldap'), null);
  }

  /** Of an organization, by name. */
  async issuers(orgId: string): Promise<readonly Issuer[]> {
    return this.#issuers.get(`of ${orgId}`, () => this.#readIssuers((rows) => rows.where('i.org_id', '=', orgId)));
  }

  /** Of any organization, whose tokens may say this of who issued them. */
  async issuersOf(iss: string | null): Promise<readonly Issuer[]> {
    return this.#issuers.get(`iss ${iss ?? ''}`, () =>
      this.#readIssuers((rows) =>
        rows
          .where('i.kind', '!=', 'ldap')
          .where((is) => is.or([is('i.issuer', 'is', null), ...(iss === null ? [] : [is('i.issuer', '=', iss)])])),
      ),
    );
  }

  /** @param most null: all. */
  async #readIssuers(
    narrow: (rows: IssuerRows) => IssuerRows,
    most: number | null = MOST_ISSUERS,
  ): Promise<readonly Issuer[]> {
    const narrowed = narrow(issuerRows(this.#read)).orderBy('i.name').orderBy('i.id');
    const rows = await (most === null ? narrowed : narrowed.limit(most)).execute();
    return rows.map(({ orgId, orgName, signIn, ldap, ...issuer }) => ({
      ...issuer,
      organization: { id: orgId, name: orgName },
      signIn: signIn === null ? null : (JSON.parse(signIn) as SignIn),
      ldap: ldap === null ? null : (JSON.parse(ldap) as LdapSettings),
    }));
  }

  /** The organization of this name, or else the only one whose name is this when - and _ are written as periods. */
  async tenant(name: string, normal: string): Promise<Organization | undefined> {
    const exact = await this.organization(name);
    if (exact !== undefined || !/^[a-z0-9][a-z0-9.]{0,254}$/.test(normal)) return exact;
    return this.#tenants.get(normal, async () => {
      const alike = await this.#read
        .selectFrom('organizations')
        .select(['id', 'name'])
        .where(sql`replace(replace(name, '-', '.'), '_', '.')`, '=', normal)
        .limit(2)
        .execute();
      return alike.length === 1 ? alike[0] : undefined;
    });
  }

  /** Where requests of a user go that say nothing of it. */
  home(principalId: string): Promise<Home> {
    return this.#homes.get(principalId, async () => {
      const found = await this.#read
        .selectFrom('org_members as m')
        .innerJoin('organizations as o', 'o.id', 'm.org_id')
        .select(['o.id', 'o.name'])
        .where('m.principal_id', '=', principalId)
        .execute();
      const [first] = found;
      return { number: found.length, organization: found.length === 1 && first !== undefined ? first : null };
    });
  }

  groups(orgId: string): Promise<Groups> {
    return this.#groups.get(orgId, () => readGroups(this.#read, orgId));
  }

  nodeGroups(orgId: string): Promise<readonly NodeGroup[]> {
    return this.#nodeGroups.get(orgId, () => readNodeGroups(this.#read, orgId));
  }

  eventGrants(orgId: string): Promise<readonly EventGrant[]> {
    return this.#eventGrants.get(orgId, () => readEventGrants(this.#read, orgId));
  }

  /** Calls the listener after every change, when what is read is new. Returns how to stop it. */
  onChanged(listener: (scope: ChangeScope) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** To be called after the change is durable. A new client touches nothing but its own name. */
  changed(scope: ChangeScope = 'anything'): void {
    if (scope !== 'anything') {
      this.#principals.forget(principalKey(scope.orgId, scope.client));
    } else {
      for (const cache of [this.#organizations, this.#principals, this.#bearers, this.#sessions]) cache.clear();
      for (const cache of [this.#groups, this.#nodeGroups, this.#eventGrants]) cache.clear();
      for (const cache of [this.#issuers, this.#tenants, this.#homes]) cache.clear();
    }
    for (const listener of this.#listeners) listener(scope);
  }
}

function issuerRows(read: Reader) {
  return read
    .selectFrom('issuers as i')
    .innerJoin('organizations as o', 'o.id', 'i.org_id')
    .select([
      'i.id',
      'i.name',
      'i.kind',
      'i.source',
      'i.issuer',
      'i.audience',
      'i.tenant',
      'i.sign_in as signIn',
      'i.ldap',
    ])
    .select(['i.user_claim as userClaim', 'i.created_at as createdAt', 'o.id as orgId', 'o.name as orgName']);
}

type IssuerRows = ReturnType<typeof issuerRows>;

function principalKey(orgId: string | null, name: string): string {
  return `${orgId ?? ''}\n${name}`;
}

async function readCandidates(read: Reader, orgId: string | null, name: string): Promise<readonly Candidate[]> {
  const rows = await read
    .selectFrom('principals as p')
    .leftJoin('principal_keys as k', 'k.principal_id', 'p.id')
    // Of an organization that was deleted there may still be rows of clients and members.
    .leftJoin('organizations as o', (join) => join.on('o.id', '=', orgId ?? ''))
    .leftJoin('org_members as m', (join) => join.onRef('m.principal_id', '=', 'p.id').onRef('m.org_id', '=', 'o.id'))
    .select(['p.id', 'p.org_id', 'p.type', 'p.name', 'p.server_admin', 'k.public_key', 'm.org_id as member_of'])
    .select('k.expires_at')
    // With the types each half is one step into an index; without them it is a walk through the organization.
    .where((where) =>
      where.or([
        where.and([where('p.org_id', 'is', null), where('p.type', '=', 'user'), where('p.name', '=', name)]),
        where.and([
          where('p.org_id', '=', orgId ?? ''),
          where('o.id', 'is not', null),
          where('p.type', 'in', ['node', 'service']),
          where('p.name', '=', name),
        ]),
      ]),
    )
    .orderBy('p.type')
    .orderBy('p.id')
    .orderBy('k.created_at')
    .execute();
  const candidates = new Map<string, Candidate & { readonly keys: CandidateKey[] }>();
  for (const row of rows) {
    const candidate = candidates.get(row.id) ?? {
      principalId: row.id,
      type: row.type,
      name: row.name,
      serverAdmin: row.server_admin === 1,
      member: row.org_id !== null || row.member_of !== null,
      keys: [],
    };
    const { public_key: pem, expires_at: expiresMs } = row;
    if (pem !== null) candidate.keys.push({ pem, key: readPublicKey(pem), expiresMs });
    candidates.set(row.id, candidate);
  }
  return [...candidates.values()];
}

async function readGroups(read: Reader, orgId: string): Promise<Groups> {
  const names = await read.selectFrom('groups').select(['name', 'exclusive']).where('org_id', '=', orgId).execute();
  const groups = new Map(names.map(({ name, exclusive }) => [name, { ...noMembers(), exclusive: exclusive === 1 }]));
  const rows = await read
    .selectFrom('group_members')
    .select(['group_name', 'kind', 'member'])
    .where('org_id', '=', orgId)
    .execute();
  for (const row of rows) {
    const group = groups.get(row.group_name);
    if (group !== undefined) add(group, row);
  }
  return groups;
}

async function readNodeGroups(read: Reader, orgId: string): Promise<readonly NodeGroup[]> {
  const rows = await read
    .selectFrom('node_groups')
    .select(['name', 'query'])
    .where('org_id', '=', orgId)
    .orderBy('name')
    .execute();
  const groups = new Map(
    rows.map(({ name, query }) => [name, { name, query, nodes: new Set<string>(), execute: noMembers() }]),
  );
  const nodes = await read
    .selectFrom('node_group_members')
    .select(['group_name', 'node'])
    .where('org_id', '=', orgId)
    .execute();
  for (const row of nodes) groups.get(row.group_name)?.nodes.add(row.node);
  const grants = await read
    .selectFrom('node_group_grants')
    .select(['group_name', 'kind', 'member'])
    .where('org_id', '=', orgId)
    .execute();
  for (const row of grants) {
    const group = groups.get(row.group_name);
    if (group !== undefined) add(group.execute, row);
  }
  return [...groups.values()];
}

async function readEventGrants(read: Reader, orgId: string): Promise<readonly EventGrant[]> {
  const rows = await read
    .selectFrom('event_grants')
    .select(['action', 'pattern', 'kind', 'member'])
    .where('org_id', '=', orgId)
    .orderBy('action')
    .orderBy('pattern')
    .execute();
  const grants = new Map<string, EventGrant & { readonly holders: MutableMembers }>();
  for (const { action, pattern, kind, member } of rows) {
    const key = `${action} ${pattern}`;
    const grant = grants.get(key) ?? { action, pattern, holders: noMembers() };
    grants.set(key, grant);
    add(grant.holders, { kind, member });
  }
  return [...grants.values()];
}
