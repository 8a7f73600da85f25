import { createHash } from 'node:crypto';
import type { Schema, Store } from '@muster/store';
import type { Kysely } from 'kysely';
import type { LdapSettings } from './ldap/types.js';
import type { Issuer, SignIn } from './types.js';

/** Seals what must not stand in the database as it is. */
export interface Sealing {
  seal(owner: string, value: unknown): Uint8Array;
  /** @throws MusterError `secret_unreadable` */
  unseal<Value>(owner: string, sealed: Uint8Array, named?: string): Value;
  /** Was it sealed with this key? */
  sealed(bytes: Uint8Array): boolean;
}

/** Where the secret of an issuer goes: the password of a directory's account, or the secret of a client at a provider. */
export type SecretPlace = Pick<Issuer, 'id' | 'source' | 'signIn' | 'ldap'>;

type NamedPlace = SecretPlace & Pick<Issuer, 'name'>;

/** The one secret that an issuer may have, as it is stored: for the place where it goes, and no other. */
export class IssuerSecrets {
  readonly #store: Pick<Store, 'read' | 'transact'>;
  readonly #sealing: Sealing;

  constructor(store: Pick<Store, 'read' | 'transact'>, sealing: Sealing) {
    this.#store = store;
    this.#sealing = sealing;
  }

  seal(place: SecretPlace, secret: string): Uint8Array {
    return this.#sealing.seal(sealedFor(place), secret);
  }

  /** @throws Error when there is none, MusterError `secret_unreadable` */
  async of(place: NamedPlace, read: Kysely<Schema> = this.#store.read): Promise<string> {
    const row = await read.selectFrom('issuers').select('sealed').where('id', '=', place.id).executeTakeFirst();
    if (row === undefined || row.sealed === null) throw new Error('its secret is not known');
    return this.#sealing.unseal<string>(sealedFor(place), row.sealed, named(place));
  }

  /** All that a former key sealed, with the one of today: all, or nothing. How many. @throws MusterError `secret_unreadable` */
  rekey(former: Sealing): Promise<number> {
    return this.#store.transact(async (trx) => {
      let changed = 0;
      const rows = trx.selectFrom('issuers').select(['id', 'name', 'source', 'sign_in', 'ldap', 'sealed']);
      for (const { id, name, source, sign_in, ldap, sealed } of await rows.where('sealed', 'is not', null).execute()) {
        if (sealed === null || this.#sealing.sealed(sealed)) continue;
        const owner = sealedFor({ id, source, signIn: parsed<SignIn>(sign_in), ldap: parsed<LdapSettings>(ldap) });
        const again = this.#sealing.seal(owner, former.unseal(owner, sealed, named({ name })));
        await trx.updateTable('issuers').set({ sealed: again }).where('id', '=', id).execute();
        changed += 1;
      }
      return changed;
    });
  }
}

/** Would a secret be told to another one than before? */
export function goesElsewhere(one: SecretPlace, other: SecretPlace): boolean {
  return placeOf(one) !== placeOf(other);
}

/** What the secret is bound to: no other row can hold it, and whoever changes where it goes cannot have it sent there. */
function sealedFor(place: SecretPlace): string {
  return `issuer ${place.id} ${createHash('sha256').update(placeOf(place)).digest('hex')}`;
}

/** How people know it. */
function named({ name }: Pick<Issuer, 'name'>): string {
  return `issuer '${name}'`;
}

function placeOf({ source, signIn, ldap }: SecretPlace): string {
  return JSON.stringify(ldap === null ? [source, signIn?.clientId ?? null] : [source, ldap.bindDn, ldap.ca]);
}

function parsed<Value>(text: string | null): Value | null {
  return text === null ? null : (JSON.parse(text) as Value);
}
