import { createHash } from 'node:crypto';
import type { Clock } from '@muster/base';
import type { Schema, Store } from '@muster/store';
import type { Kysely } from 'kysely';
import { type Directory, People } from './people.js';
import { LDAP_LIMITS, type LdapSettings } from './types.js';

/** Seals what must not stand in the database as it is. */
export interface Sealing {
  seal(owner: string, value: unknown): Uint8Array;
  /** @throws MusterError `secret_unreadable` */
  unseal<Value>(owner: string, sealed: Uint8Array): Value;
  /** Was it sealed with this key? */
  sealed(bytes: Uint8Array): boolean;
}

export interface DirectoriesDeps {
  readonly store: Pick<Store, 'read' | 'transact'>;
  readonly sealing: Sealing;
  /** By which directories are waited for. */
  readonly clock: Clock;
  /** Whether directories may be at private addresses. */
  readonly privateTargets: boolean;
}

/** The directories of issuers, each asked with its own password. */
export class Directories {
  readonly #deps: DirectoriesDeps;

  constructor(deps: DirectoriesDeps) {
    this.#deps = deps;
  }

  /** The password of an issuer, as it is stored: for this directory, and no other. */
  seal(issuerId: string, directory: Directory, password: string): Uint8Array {
    return this.#deps.sealing.seal(sealedFor(issuerId, directory), password);
  }

  /**
   * @param how With another password than that of the issuer; until it is aborted, which it is by itself unless that is said.
   * @throws Error that says why it cannot be asked, and what `work` throws
   */
  async ask<Answer>(
    issuerId: string,
    directory: Directory,
    work: (people: People) => Promise<Answer>,
    how: { readonly password?: string | undefined; readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Answer> {
    const { store, clock, privateTargets } = this.#deps;
    const password = how.password ?? (await this.#password(store.read, issuerId, directory));
    if (how.signal !== undefined)
      return People.ask(directory, { password, clock, privateTargets, signal: how.signal }, work);
    const late = new AbortController();
    const timer = clock.after(LDAP_LIMITS.signInMs, () => late.abort());
    try {
      return await People.ask(directory, { password, clock, privateTargets, signal: late.signal }, work);
    } catch (error) {
      throw late.signal.aborted ? new Error(`it takes longer than ${LDAP_LIMITS.signInMs / 1000} s`) : error;
    } finally {
      timer.cancel();
    }
  }

  /** All that a former key sealed, with the one of today: all, or nothing. How many. @throws MusterError `secret_unreadable` */
  rekey(former: Sealing): Promise<number> {
    const { store, sealing } = this.#deps;
    return store.transact(async (trx) => {
      let changed = 0;
      const rows = trx.selectFrom('issuers').select(['id', 'source', 'ldap', 'sealed']);
      for (const { id, source, ldap, sealed } of await rows.where('kind', '=', 'ldap').execute()) {
        if (sealed === null || ldap === null || sealing.sealed(sealed)) continue;
        const owner = sealedFor(id, { source, ldap: JSON.parse(ldap) as LdapSettings });
        const again = sealing.seal(owner, former.unseal(owner, sealed));
        await trx.updateTable('issuers').set({ sealed: again }).where('id', '=', id).execute();
        changed += 1;
      }
      return changed;
    });
  }

  async #password(read: Kysely<Schema>, id: string, directory: Directory): Promise<string> {
    const row = await read.selectFrom('issuers').select('sealed').where('id', '=', id).executeTakeFirst();
    if (row === undefined || row.sealed === null) throw new Error('its password is not known');
    return this.#deps.sealing.unseal<string>(sealedFor(id, directory), row.sealed);
  }
}

/** What the password is bound to: no other row can hold it, and whoever changes where it goes cannot have it sent there. */
function sealedFor(id: string, { source, ldap }: Pick<Directory, 'source' | 'ldap'>): string {
  const place = JSON.stringify([source, ldap.bindDn, ldap.ca]);
  return `issuer ${id} ${createHash('sha256').update(place).digest('hex')}`;
}
