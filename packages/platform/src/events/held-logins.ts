import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '@muster/base';
import type { EventAccess, Revoked } from '@muster/fabric';
import type { AuthRepository } from '../auth/repository.js';
import { standingSessions } from '../auth/sessions/rows.js';
import { type Credential, type Identity, isGood, type Organization } from '../auth/types.js';
import { type EventRights, eventAccess, type Followers } from './access.js';
import { EVENT_LIMITS } from './limits.js';

export interface Grounds {
  readonly organization: Organization;
  readonly identity: Identity;
  readonly credential: Credential;
}

interface Held extends Grounds {
  /** Hash of the access that was given. */
  readonly given: string;
  /** The change after which it was given. */
  readonly stamp: number;
}

export interface HeldLoginsDeps {
  readonly followers: Followers;
  readonly repository: AuthRepository;
  readonly clock: Clock;
  /** What a change has left could not be read; it is tried again. */
  readonly failed: (error: unknown) => void;
}

function keyOf(grounds: Grounds): string {
  return `${grounds.organization.id} ${groundsText(grounds)}`;
}

/** Of whom, and with what, for those who ask whether it still holds. Nobody can log in with it. */
export function groundsText({ identity, credential }: Grounds): string {
  const proof = credential.kind === 'key' ? hashOf(credential.pem) : credential.hash;
  return `${identity.principalId} ${credential.kind} ${proof}`;
}

export function hashOf(about: string | EventAccess): string {
  const text = typeof about === 'string' ? about : JSON.stringify(about);
  return createHash('sha256').update(text).digest('base64');
}

/**
 * What the logins that were let in stand on. After each change of identities, groups or grants they are looked at
 * again, all in a few statements, and those that stand no longer, or would be given another access now, are told.
 */
export class HeldLogins {
  readonly #deps: HeldLoginsDeps;
  readonly #held = new Map<string, Held>();
  readonly #listeners = new Set<(revoked: Revoked) => void>();
  readonly #stop: () => void;
  #changes = 0;
  #looked = 0;
  #looking = false;
  #stopped = false;

  constructor(deps: HeldLoginsDeps) {
    this.#deps = deps;
    this.#stop = deps.repository.onChanged((scope) => {
      // A new client takes nothing from anybody.
      if (scope !== 'anything') return;
      this.#changes++;
      void this.#look();
    });
  }

  /** Counts changes: what was read before one may hold no longer. */
  get changes(): number {
    return this.#changes;
  }

  get size(): number {
    return this.#held.size;
  }

  onRevoked(listener: (revoked: Revoked) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Returns the stamp of the login. Earlier ones with the same credential that were given another access end. */
  hold(grounds: Grounds, access: EventAccess): number {
    const key = keyOf(grounds);
    const given = hashOf(access);
    const stamp = this.#changes;
    const before = this.#held.get(key);
    if (before !== undefined && before.given !== given) this.#revoke(key, before);
    this.#held.delete(key);
    this.#held.set(key, { ...grounds, given, stamp });
    if (this.#held.size > EVENT_LIMITS.heldLogins) {
      // Whoever nobody could look at again any more may log in again.
      const [oldest] = this.#held;
      if (oldest !== undefined) this.#revoke(...oldest);
    }
    return stamp;
  }

  stop(): void {
    this.#stopped = true;
    this.#stop();
    this.#held.clear();
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      while (this.#looked < this.#changes && !this.#stopped) {
        const changes = this.#changes;
        await this.#lookAtAll();
        this.#looked = changes;
      }
    } catch (error) {
      this.#deps.failed(error);
      this.#deps.clock.after(EVENT_LIMITS.retryMs, () => void this.#look());
    } finally {
      this.#looking = false;
    }
  }

  async #lookAtAll(): Promise<void> {
    const organizations = new Map<string, [string, Held][]>();
    for (const entry of this.#held) {
      const { name } = entry[1].organization;
      const entries = organizations.get(name);
      if (entries === undefined) organizations.set(name, [entry]);
      else entries.push(entry);
    }
    for (const [name, entries] of organizations) {
      const organization = await this.#deps.repository.organization(name);
      const rights = organization === undefined ? null : await rightsIn(this.#deps.repository, organization.id);
      for (let at = 0; at < entries.length; at += EVENT_LIMITS.rows) {
        const piece = entries.slice(at, at + EVENT_LIMITS.rows);
        // So that others have their turns; and whoever was let in just now has a session before it is told to end.
        await setImmediate();
        if (organization === undefined || rights === null) for (const entry of piece) this.#revoke(...entry);
        else await this.#lookAt(piece, organization, rights);
      }
    }
  }

  async #lookAt(entries: readonly [string, Held][], organization: Organization, rights: EventRights): Promise<void> {
    const standing = await readStanding(
      this.#deps.repository,
      entries.map(([, held]) => held),
      organization.id,
    );
    for (const [key, held] of entries) {
      const { identity, credential, given } = held;
      const signedIn = (credential.kind === 'token' || credential.kind === 'session') && credential.signedIn;
      const serverAdmin = !signedIn && standing.admins.has(identity.principalId);
      const stands =
        held.organization.id === organization.id &&
        standing.members.has(identity.principalId) &&
        standing.proofs.has(proofOf(identity.principalId, credential)) &&
        hashOf(eventAccess({ ...identity, serverAdmin }, organization, rights, this.#deps.followers)) === given;
      if (!stands) this.#revoke(key, held);
      else if (!isGood(credential.expiresMs, this.#deps.clock.now())) this.#held.delete(key);
    }
  }

  #revoke(key: string, held: Held): void {
    // Somebody who logged in again in the meantime stands on what is there now.
    if (this.#held.get(key) !== held) return;
    this.#held.delete(key);
    const { organization, identity } = held;
    const principal = `${organization.name}/${identity.name}`;
    const revoked = { org: organization.name, principal, before: held.stamp + 1 };
    for (const listener of this.#listeners) listener(revoked);
  }
}

export async function rightsIn(repository: AuthRepository, orgId: string): Promise<EventRights> {
  const [groups, grants] = await Promise.all([repository.groups(orgId), repository.eventGrants(orgId)]);
  return { groups, grants };
}

function proofOf(principalId: string, credential: Credential): string {
  return `${principalId}\n${credential.kind === 'key' ? credential.pem : credential.hash}`;
}

/** What of the logins is still in the database. */
async function readStanding({ read }: AuthRepository, logins: readonly Grounds[], orgId: string) {
  const ids = [...new Set(logins.map(({ identity }) => identity.principalId))];
  const hashesOf = (kind: 'token' | 'session') =>
    logins.flatMap(({ credential }) => (credential.kind === kind ? [credential.hash] : []));
  const hashes = hashesOf('token');
  const principals = await read
    .selectFrom('principals as p')
    .leftJoin('org_members as m', (join) => join.onRef('m.principal_id', '=', 'p.id').on('m.org_id', '=', orgId))
    .select(['p.id', 'p.server_admin'])
    .where('p.id', 'in', ids)
    .where((where) => where.or([where('p.org_id', '=', orgId), where('m.org_id', 'is not', null)]))
    .execute();
  const keys = await read
    .selectFrom('principal_keys')
    .select(['principal_id', 'public_key as proof'])
    .where('principal_id', 'in', ids)
    .execute();
  const tokens =
    hashes.length === 0
      ? []
      : await read
          .selectFrom('access_tokens')
          .select(['principal_id', 'hash as proof'])
          .where('hash', 'in', hashes)
          .execute();
  const sessions = (await standingSessions(read, hashesOf('session'))).map(({ principalId, hash }) => ({
    principal_id: principalId,
    proof: hash,
  }));
  return {
    members: new Set(principals.map(({ id }) => id)),
    admins: new Set(principals.flatMap(({ id, server_admin }) => (server_admin === 1 ? [id] : []))),
    proofs: new Set([...keys, ...tokens, ...sessions].map(({ principal_id, proof }) => `${principal_id}\n${proof}`)),
  };
}
