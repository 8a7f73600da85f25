import { isBoxKey, type SealedBox, sealBox } from '@muster/signing';
import type { Schema, Store } from '@muster/store';
import type { Selectable } from 'kysely';
import type { Auth } from '../auth/auth.js';
import { includes, membersWritten } from '../auth/permissions.js';
import { actorOf, type Identity, type Organization } from '../auth/types.js';
import { unknownMembers } from '../auth/unknown-members.js';
import { MusterError } from '../errors.js';
import '../schema/tables.js';
import { SECRET_LIMITS } from './limits.js';
import type { Reference, SecretProviders } from './providers/providers.js';
import { resealed, type SealingKey } from './sealing-key.js';

type Row = Omit<Selectable<Schema['org_secrets']>, 'sealed'>;

/** What is told of a secret. Its value is told nobody but the nodes that run what uses it. */
export interface Secret {
  readonly id: string;
  readonly name: string;
  readonly owner: { readonly principalId: string; readonly name: string };
  /** Who may use it besides its owner and admins: `alice`, `group:NAME`, `client:NAME`. */
  readonly holders: readonly string[];
  /** Who keeps its value, when it is not kept here. */
  readonly from: Reference | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface SecretsDeps {
  readonly store: Pick<Store, 'read' | 'transact'>;
  readonly auth: Pick<Auth, 'authorize' | 'changes' | 'repository' | 'rights'>;
  readonly key: SealingKey;
  readonly providers: SecretProviders;
}

/** What keeps names of secrets, and needs what they hold. */
export interface SecretUser {
  /** Why it must not be deleted, and what to do first; null: it is not used. */
  needs(org: Organization, name: string): string | null;
  /** @throws MusterError `invalid_field` for a value that is of no use to it */
  check(org: Organization, name: string, value: string): Promise<void>;
}

/** By name. */
type Values = Readonly<Record<string, string>>;

/** A value, or where it is. */
export type Source = { readonly value: string } | Reference;

const COLUMNS = [
  'id',
  'org_id',
  'name',
  'owner_id',
  'owner_name',
  'holders',
  'provider',
  'reference',
  'created_at',
  'updated_at',
] as const;

/** Secrets of organizations: kept sealed, and handed to what may use them. Nobody has one but its owner, admins, and whom they name. */
export class Secrets {
  readonly #deps: SecretsDeps;
  readonly #users: SecretUser[] = [];

  constructor(deps: SecretsDeps) {
    this.#deps = deps;
  }

  usedBy(user: SecretUser): void {
    this.#users.push(user);
  }

  /** Those that the caller may use, by name. */
  async list(org: Organization, caller: Identity): Promise<readonly Secret[]> {
    const rows = this.#deps.store.read.selectFrom('org_secrets').select(COLUMNS).where('org_id', '=', org.id);
    const all = (await rows.orderBy('name').execute()).map(secretOf);
    const seen: Secret[] = [];
    for (const secret of all) if (await this.#mayUse(org, caller, secret)) seen.push(secret);
    return seen;
  }

  /** @throws MusterError `secret_forbidden`, also when there is none; only admins are told that, with `not_found` */
  async usable(org: Organization, name: string, caller: Identity): Promise<Secret> {
    const secret = await this.#find(org.id, name);
    if (secret !== undefined && (await this.#mayUse(org, caller, secret))) return secret;
    throw await this.#refusal(org, name, caller, forbidden);
  }

  /**
   * Keeps a value under a name, or where it is, new or in the place of the one before. What runs has the one that it was given. What a
   * provider has is asked for once, so that a mistake is told now; admins alone name it, as the provider does not know who asks.
   * @throws MusterError `invalid_field`, `secret_not_own` for one that others own, `too_busy`, `forbidden`, `secret_unavailable`
   */
  async set(org: Organization, name: string, source: Source, by: Identity): Promise<Secret> {
    const { auth, key } = this.#deps;
    const { changes } = auth;
    const from = 'value' in source ? null : source;
    if ('value' in source) checkValue(source.value);
    const before = await this.#find(org.id, name);
    if (before !== undefined) await this.#assertOwned(org, before, by);
    const value = 'value' in source ? source.value : await this.#tried(org, name, source, by);
    for (const user of this.#users) await user.check(org, name, value);
    const { id, owner, holders, createdAt } = before ?? {
      ...{ id: changes.newId(), holders: [], createdAt: changes.now },
      owner: { principalId: by.principalId, name: by.name },
    };
    const made: Secret = { id, name, owner, holders, from, createdAt, updatedAt: changes.now };
    const change = {
      orgId: org.id,
      actor: actorOf(by),
      action: 'secret.set',
      target: name,
      ...(from !== null && { detail: { ...from } }),
    } as const;
    await changes.apply(change, async (trx) => {
      const sealed = 'value' in source ? key.seal(sealedFor(id), source.value) : null;
      const kept = { sealed, provider: from?.provider ?? null, reference: from?.reference ?? null };
      if (before !== undefined) {
        const rows = trx
          .updateTable('org_secrets')
          .set({ ...kept, updated_at: made.updatedAt })
          .where('id', '=', id);
        if ((await rows.executeTakeFirstOrThrow()).numUpdatedRows === 0n) throw notOwn(by, name);
        return;
      }
      const held = await trx.selectFrom('org_secrets').select('name').where('org_id', '=', org.id).execute();
      if (held.some((one) => one.name === name)) throw notOwn(by, name);
      const most = SECRET_LIMITS.perOrganization;
      if (held.length >= most) throw new MusterError('too_busy', { what: 'secrets', limit: most });
      await trx
        .insertInto('org_secrets')
        .values({ ...rowOf(org, made), ...kept })
        .execute();
    });
    return made;
  }

  /** Changes who may use it. @throws MusterError `secret_not_own`, `invalid_field` */
  async share(
    org: Organization,
    name: string,
    { grant, revoke }: { readonly grant: readonly string[]; readonly revoke: readonly string[] },
    by: Identity,
  ): Promise<Secret> {
    const { changes } = this.#deps.auth;
    const { id } = await this.owned(org, name, by);
    const detail = { granted: grant.join(', '), revoked: revoke.join(', ') };
    const change = { orgId: org.id, actor: actorOf(by), action: 'secret.share', target: name, detail } as const;
    return changes.apply(change, async (trx) => {
      const row = await trx.selectFrom('org_secrets').select(COLUMNS).where('id', '=', id).executeTakeFirst();
      if (row === undefined) throw notOwn(by, name);
      const before = secretOf(row);
      const holders = [...new Set([...before.holders, ...grant])].filter((one) => !revoke.includes(one));
      const most = SECRET_LIMITS.holders;
      if (holders.length > most) throw invalid('grant', `at most ${most}`);
      const after = { holders: JSON.stringify(holders), updated_at: changes.now };
      await trx.updateTable('org_secrets').set(after).where('id', '=', id).execute();
      return { ...before, holders, updatedAt: after.updated_at };
    });
  }

  /** Those of them who are not there, or not yet: whoever was misspelt could not use it. */
  unknownHolders(org: Organization, holders: readonly string[]): Promise<readonly string[]> {
    return unknownMembers(this.#deps.auth.repository, org.id, holders);
  }

  /** @throws MusterError `secret_not_own`, `in_use` */
  async remove(org: Organization, name: string, by: Identity): Promise<void> {
    const { id } = await this.owned(org, name, by);
    for (const user of this.#users) {
      const reason = user.needs(org, name);
      if (reason !== null) throw new MusterError('in_use', { kind: 'secret', name, reason });
    }
    const change = { orgId: org.id, actor: actorOf(by), action: 'secret.delete', target: name } as const;
    await this.#deps.auth.changes.apply(change, async (trx) => {
      await trx.deleteFrom('org_secrets').where('id', '=', id).execute();
    });
  }

  /** @throws MusterError `secret_not_own`, to admins `not_found` */
  async owned(org: Organization, name: string, by: Identity): Promise<Secret> {
    const secret = await this.#find(org.id, name);
    if (secret === undefined) throw await this.#refusal(org, name, by, notOwn);
    await this.#assertOwned(org, secret, by);
    return secret;
  }

  /**
   * The values of all of these names, for one reader alone; by `files`, when these say what the reader calls each; and what else it is
   * given, `besides`. Whether they may have them was looked at before.
   * @throws MusterError `invalid_field` for a key that is none, `not_found`, `secret_unreadable`, `secret_unavailable`
   */
  async boxed(
    { id: orgId, name: organization }: Pick<Organization, 'id' | 'name'>,
    names: readonly string[],
    reader: {
      readonly key: string;
      readonly about: string;
      readonly files?: Readonly<Record<string, string>>;
      readonly besides?: Values;
    },
  ): Promise<SealedBox> {
    if (!isBoxKey(reader.key)) throw invalid('key', 'must be 32 bytes in base64url');
    const found = await this.#rows(orgId, names);
    const asked = names.map(async (name) => {
      const row = found.get(name);
      if (row === undefined) throw new MusterError('not_found', { kind: 'secret', name });
      return [name, inBase64(await this.#value(organization, row))] as const;
    });
    const besides = Object.entries(reader.besides ?? {}).map(([name, value]) => [name, inBase64(value)] as const);
    const values = Object.fromEntries([...(await Promise.all(asked)), ...besides]);
    const files = Object.entries(reader.files ?? {}).map(([file, name]) => [file, values[name] ?? ''] as const);
    const bytes = Buffer.from(JSON.stringify(reader.files === undefined ? values : Object.fromEntries(files)));
    try {
      return sealBox(reader.key, reader.about, bytes);
    } catch {
      throw invalid('key', 'is no key of X25519');
    }
  }

  /** What is kept elsewhere than here: in base64, for `unseal`, which gives it back for the same owner. */
  seal(owner: string, values: Values): string {
    return this.#deps.key.seal(owner, values).toString('base64');
  }

  /** @throws MusterError `secret_unreadable` */
  unseal(owner: string, sealed: string): Values {
    return this.#deps.key.unseal<Values>(owner, Buffer.from(sealed, 'base64'));
  }

  /** What `seal` gave, with the key of today instead of a former one; null: it has that already. @throws MusterError `secret_unreadable` */
  reseal(former: SealingKey, owner: string, sealed: string): string | null {
    return resealed(this.#deps.key, former, owner, Buffer.from(sealed, 'base64'))?.toString('base64') ?? null;
  }

  /**
   * The value of one, for the server's own use. Whether that was for whoever named it to decide was looked at before.
   * @throws MusterError `not_found`, `secret_unreadable`, `secret_unavailable`
   */
  async value({ id: orgId, name: organization }: Pick<Organization, 'id' | 'name'>, name: string): Promise<string> {
    const columns = ['id', 'name', 'sealed', 'provider', 'reference'] as const;
    const rows = this.#deps.store.read.selectFrom('org_secrets').select(columns).where('org_id', '=', orgId);
    const row = await rows.where('name', '=', name).executeTakeFirst();
    if (row === undefined) throw new MusterError('not_found', { kind: 'secret', name });
    return this.#value(organization, row);
  }

  /** All that a former key sealed, with the one of today: all, or nothing. How many. @throws MusterError `secret_unreadable` */
  async rekey(former: SealingKey): Promise<number> {
    const { store, key } = this.#deps;
    return store.transact(async (trx) => {
      let changed = 0;
      for (const { id, sealed: before } of await trx.selectFrom('org_secrets').select(['id', 'sealed']).execute()) {
        if (before === null) continue;
        const sealed = resealed(key, former, sealedFor(id), before);
        if (sealed === null) continue;
        await trx.updateTable('org_secrets').set({ sealed }).where('id', '=', id).execute();
        changed += 1;
      }
      return changed;
    });
  }

  /** Names of those that the key of today did not seal: nobody can use them. At most this many. */
  async sealedOtherwise(most: number): Promise<string[]> {
    const { head } = this.#deps.key;
    const rows = await this.#deps.store.read
      .selectFrom('org_secrets')
      .select('name')
      .where((eb) => eb(eb.fn<Uint8Array>('substr', ['sealed', eb.lit(1), eb.lit(head.length)]), '<>', head))
      .orderBy('name')
      .limit(most)
      .execute();
    return rows.map(({ name }) => name);
  }

  async #rows(orgId: string, names: readonly string[]) {
    if (names.length === 0) return new Map<string, never>();
    const columns = ['id', 'name', 'sealed', 'provider', 'reference'] as const;
    const rows = this.#deps.store.read.selectFrom('org_secrets').select(columns).where('org_id', '=', orgId);
    return new Map((await rows.where('name', 'in', names).execute()).map((row) => [row.name, row]));
  }

  /** Of one that a provider has: as it is there now. */
  async #value(
    organization: string,
    {
      id,
      name,
      sealed,
      ...row
    }: Pick<Selectable<Schema['org_secrets']>, 'id' | 'name' | 'provider' | 'reference' | 'sealed'>,
  ): Promise<string> {
    const from = referenceOf(row);
    if (from === null)
      return this.#deps.key.unseal<string>(sealedFor(id), sealed ?? new Uint8Array(), `the secret '${name}'`);
    return this.#fetched(organization, name, from);
  }

  async #fetched(organization: string, name: string, from: Reference): Promise<string> {
    const value = await this.#deps.providers.fetch(organization, name, from);
    const reason = whyNoValue(value);
    if (reason === null) return value;
    throw new MusterError('secret_unavailable', {
      secret: name,
      provider: from.provider,
      reason: `its value ${reason}`,
    });
  }

  async #tried(org: Organization, name: string, from: Reference, by: Identity): Promise<string> {
    const { auth, providers } = this.#deps;
    if (!(await auth.authorize(by, org, 'org:admin'))) throw auth.rights.forbidden(by.name, 'org:admin');
    providers.check(org.name, from);
    return this.#fetched(org.name, name, from);
  }

  async #find(orgId: string, name: string): Promise<Secret | undefined> {
    const rows = this.#deps.store.read.selectFrom('org_secrets').select(COLUMNS).where('org_id', '=', orgId);
    const row = await rows.where('name', '=', name).executeTakeFirst();
    return row && secretOf(row);
  }

  async #mayUse(org: Organization, caller: Identity, secret: Secret): Promise<boolean> {
    if (caller.principalId === secret.owner.principalId) return true;
    const { auth } = this.#deps;
    if (includes(membersWritten(secret.holders), caller, await auth.repository.groups(org.id))) return true;
    return auth.authorize(caller, org, 'org:admin');
  }

  async #refusal(
    org: Organization,
    name: string,
    caller: Identity,
    refused: (caller: Identity, name: string) => MusterError,
  ): Promise<MusterError> {
    const admin = await this.#deps.auth.authorize(caller, org, 'org:admin');
    return admin ? new MusterError('not_found', { kind: 'secret', name }) : refused(caller, name);
  }

  async #assertOwned(org: Organization, { name, owner }: Secret, by: Identity): Promise<void> {
    if (by.principalId === owner.principalId) return;
    if (!(await this.#deps.auth.authorize(by, org, 'org:admin'))) throw notOwn(by, name);
  }
}

function checkValue(value: string): void {
  const reason = whyNoValue(value);
  if (reason !== null) throw invalid('value', reason);
}

/** Why something cannot be a secret; null: it can. */
export function whyNoValue(value: string): string | null {
  const bytes = Buffer.byteLength(value);
  const { leastBytes, mostBytes } = SECRET_LIMITS;
  if (/\p{Surrogate}/u.test(value)) return 'must be text; write other bytes as base64';
  if (bytes > mostBytes) return `must not be above ${mostBytes} bytes`;
  if (Buffer.byteLength(value.trim()) >= leastBytes) return null;
  return `has less than ${leastBytes} bytes: what is so short cannot be hidden in output`;
}

function inBase64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function referenceOf({ provider, reference }: Pick<Row, 'provider' | 'reference'>): Reference | null {
  return provider === null ? null : { provider, reference: reference ?? '' };
}

function invalid(field: string, reason: string): MusterError {
  return new MusterError('invalid_field', { field, reason });
}

/** What the value is bound to, so that no other row can hold it. */
function sealedFor(id: string): string {
  return `secret ${id}`;
}

function secretOf(row: Row): Secret {
  return {
    id: row.id,
    name: row.name,
    owner: { principalId: row.owner_id, name: row.owner_name },
    holders: JSON.parse(row.holders) as string[],
    from: referenceOf(row),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function rowOf(
  org: Organization,
  { id, name, owner, holders, createdAt, updatedAt }: Secret,
): Omit<Row, 'provider' | 'reference'> {
  return {
    ...{ id, org_id: org.id, name, owner_id: owner.principalId, owner_name: owner.name },
    ...{ holders: JSON.stringify(holders), created_at: createdAt, updated_at: updatedAt },
  };
}

function notOwn({ name }: Identity, secret: string): MusterError {
  return new MusterError('secret_not_own', { name, secret: secret.slice(0, SECRET_LIMITS.name) });
}

function forbidden({ name }: Identity, secret: string): MusterError {
  return new MusterError('secret_forbidden', { name, secret: secret.slice(0, SECRET_LIMITS.name) });
}
