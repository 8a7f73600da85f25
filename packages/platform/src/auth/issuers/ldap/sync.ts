import type { Clock } from '@muster/base';
import type { Leases, Store } from '@muster/store';
import { LeaseKeeper, type Turn } from '../../../upkeep/lease-keeper.js';
import type { LayerLog } from '../../../upkeep/logging.js';
import { Upkeep } from '../../../upkeep/upkeep.js';
import type { Changes } from '../../changes.js';
import type { AuthRepository } from '../../repository.js';
import { endSessions } from '../../sessions/rows.js';
import { mappedGroups, syncGroups, syncOf } from '../group-sync.js';
import { requireIssuer } from '../sign-ins.js';
import type { Issuer } from '../types.js';
import type { Directories } from './directories.js';
import { directoryOf, type Person } from './people.js';
import { LDAP_LIMITS } from './types.js';

export interface DirectorySyncDeps {
  readonly store: Pick<Store, 'read'>;
  readonly leases: Leases;
  readonly clock: Clock;
  readonly log: LayerLog;
  readonly changes: Changes;
  readonly repository: Pick<AuthRepository, 'directories'>;
  readonly directories: Directories;
}

/** Who has signed in at a directory, and which of the groups that it decides about they are in. */
interface Known {
  readonly id: string;
  readonly name: string;
  readonly held: ReadonlySet<string>;
}

/**
 * Looks again and again for those who have signed in at directories: they have the groups that these give now, and whom they know no
 * more is signed out. One process for all, as long as it holds the lease. What a directory does not say changes nothing.
 */
export class DirectorySync {
  readonly #deps: DirectorySyncDeps;
  readonly #keeper: LeaseKeeper;

  constructor(deps: DirectorySyncDeps) {
    this.#deps = deps;
    this.#keeper = new LeaseKeeper({ ...deps, name: 'directories', begin: async () => this.#begin() });
  }

  start(): void {
    this.#keeper.start();
  }

  stop(): Promise<void> {
    return this.#keeper.stop();
  }

  /** Once. What goes wrong with a directory is logged. */
  async round(signal?: AbortSignal): Promise<void> {
    const { repository, log } = this.#deps;
    for (const issuer of await repository.directories()) {
      if (signal?.aborted === true) return;
      await this.#look(issuer, signal).catch((error: unknown) => {
        if (signal?.aborted === true) return;
        const about = { err: error, issuer: issuer.name, organization: issuer.organization.name };
        log.warn(
          about,
          'a directory could not be asked about those who have signed in there; they keep what they have',
        );
      });
    }
  }

  #begin(): Turn {
    const { clock, log } = this.#deps;
    const ending = new AbortController();
    const upkeep = new Upkeep({
      clock,
      pauseMs: LDAP_LIMITS.syncMs,
      round: () => this.round(ending.signal),
      failed: (error) => log.warn({ err: error }, 'who has signed in at directories could not be read; trying again'),
    });
    upkeep.start();
    // A server that is started again and again looks, too.
    upkeep.hurry();
    return {
      stop: () => {
        ending.abort();
        return upkeep.stop();
      },
    };
  }

  async #look(issuer: Issuer, signal: AbortSignal | undefined): Promise<void> {
    const { directories, log } = this.#deps;
    const directory = directoryOf(issuer);
    if (directory === null || (await this.#page(issuer, '')).length === 0) return;
    const about = { issuer: issuer.name, organization: issuer.organization.name };
    const gone: Known[] = [];
    let seen = 0;
    await directories.ask(
      issuer.id,
      directory,
      async (people) => {
        await people.checkBases();
        for (let after = ''; ; ) {
          const page = await this.#page(issuer, after);
          for (const known of page) {
            signal?.throwIfAborted();
            seen++;
            after = known.id;
            const person = await people.still(known.name);
            if (!('unknown' in person)) await this.#bring(issuer, known, person);
            else if (person.gone) gone.push(known);
            else log.warn({ ...about, user: known.name, why: person.unknown }, 'whom a directory means is not sure');
          }
          if (page.length < LDAP_LIMITS.syncPage) return;
        }
      },
      { signal },
    );
    if (isUnlikely(gone.length, seen)) {
      const numbers = { ...about, gone: gone.length, of: seen };
      log.warn(numbers, 'a directory knows most of those no more who have signed in there; nobody is signed out');
      return;
    }
    for (const known of gone) await this.#signOut(issuer, known);
  }

  /** In the order of their ids. */
  async #page({ id, organization, ldap }: Issuer, after: string): Promise<readonly Known[]> {
    const { read } = this.#deps.store;
    const users = await read
      .selectFrom('directory_users as d')
      .innerJoin('principals as p', 'p.id', 'd.principal_id')
      .innerJoin('org_members as m', (join) =>
        join.onRef('m.principal_id', '=', 'd.principal_id').onRef('m.org_id', '=', 'd.org_id'),
      )
      .select(['p.id', 'p.name'])
      .where('d.issuer_id', '=', id)
      .where('d.principal_id', '>', after)
      .orderBy('d.principal_id')
      .limit(LDAP_LIMITS.syncPage)
      .execute();
    const mapped = ldap === null ? [] : mappedGroups(ldap);
    if (users.length === 0 || mapped.length === 0) return users.map((user) => ({ ...user, held: new Set() }));
    const names = users.map(({ name }) => name);
    const rows = await read
      .selectFrom('group_members')
      .select(['member', 'group_name'])
      .where('org_id', '=', organization.id)
      .where('kind', '=', 'user')
      .where('member', 'in', names)
      .where('group_name', 'in', mapped)
      .execute();
    const held = new Map(names.map((name) => [name, new Set<string>()]));
    for (const { member, group_name } of rows) held.get(member)?.add(group_name);
    return users.map((user) => ({ ...user, held: held.get(user.name) ?? new Set() }));
  }

  /** Into the groups that the directory gives, and out of the others that it decides about. */
  async #bring(issuer: Issuer, { id, name: user, held }: Known, { groups }: Person): Promise<void> {
    const { changes } = this.#deps;
    const { ldap, organization } = issuer;
    if (ldap === null) return;
    const { joined, left } = syncOf(mappedGroups(ldap), groups, held);
    // Most often nothing has changed, and writes wait for each other.
    if (joined.length === 0 && left.length === 0) return;
    const detail: Record<string, string> = { issuer: issuer.name };
    const change = { ...this.#change(issuer, user), action: 'login.sync', detail } as const;
    await changes.apply(
      change,
      async (trx, also) => {
        await requireIssuer(trx, issuer);
        const rows = trx.selectFrom('directory_users').select('org_id').where('issuer_id', '=', issuer.id);
        // Deleted, or no member any more.
        if ((await rows.where('principal_id', '=', id).executeTakeFirst()) === undefined) return false;
        const done = await syncGroups(trx, organization.id, { user, groups }, ldap, changes.now);
        for (const target of done.made)
          also({ ...change, action: 'group.set', target, detail: { issuer: issuer.name, users: user } });
        Object.assign(detail, { joined: done.joined.join(' '), left: done.left.join(' ') });
        return done.joined.length + done.left.length > 0;
      },
      'anything',
      (changed) => changed,
    );
  }

  /** Whom the directory knows no more: what they got by it ends, and what they have in the organization for a while. */
  async #signOut(issuer: Issuer, { id, name: user }: Known): Promise<void> {
    const { changes } = this.#deps;
    const { ldap, organization } = issuer;
    if (ldap === null) return;
    const detail: Record<string, string | number> = { issuer: issuer.name };
    const change = { ...this.#change(issuer, user), action: 'login.revoke', detail } as const;
    await changes.apply(
      change,
      async (trx) => {
        await requireIssuer(trx, issuer);
        const rows = trx.deleteFrom('directory_users').where('issuer_id', '=', issuer.id);
        const deleted = await rows.where('principal_id', '=', id).executeTakeFirst();
        if (deleted.numDeletedRows === 0n) return false;
        const { left } = await syncGroups(trx, organization.id, { user, groups: new Set() }, ldap, changes.now);
        const tokens = await trx
          .deleteFrom('access_tokens')
          .where('principal_id', '=', id)
          .where((is) => is.or([is('issuer_id', '=', issuer.id), is('org_id', '=', organization.id)]))
          .executeTakeFirst();
        await endSessions(trx, id, organization.id);
        Object.assign(detail, { left: left.join(' '), tokens: Number(tokens.numDeletedRows) });
        return true;
      },
      'anything',
      (changed) => changed,
    );
  }

  #change({ organization }: Issuer, user: string) {
    return { orgId: organization.id, actor: { name: 'server', kind: 'server' }, target: user } as const;
  }
}

/** A directory that knows nearly nobody has lost its people, and not its organization theirs. */
export function isUnlikely(gone: number, of: number): boolean {
  return gone > LDAP_LIMITS.goneAtOnce && gone * 2 > of;
}
