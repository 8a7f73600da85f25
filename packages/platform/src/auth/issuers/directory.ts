import { MusterError } from '../../errors.js';
import { type Changes, secretHash, type Trx } from '../changes.js';
import type { AuthRepository } from '../repository.js';
import type { Actor, AuditEntry, Organization } from '../types.js';
import type { KeyRing } from './key-ring.js';
import { pemKey } from './keys.js';
import { checkLdap } from './ldap/checked.js';
import type { Directories } from './ldap/directories.js';
import { directoryOf } from './ldap/people.js';
import { goesElsewhere, type IssuerSecrets } from './secrets.js';
import { type AskedIssuer, ISSUER_LIMITS, type Issuer, type NewIssuer } from './types.js';

/** What an issuer answers when it is tried. */
export interface Tried {
  readonly kind: Issuer['kind'];
  /** Keys with which it signs; null: it is a directory. */
  readonly keys: number | null;
  /** Who was looked for, as the directory knows them; null: nobody, or there is no such one. */
  readonly person: {
    readonly dn: string;
    readonly name: string;
    /** There. */
    readonly found: readonly string[];
    /** Here. */
    readonly groups: readonly string[];
  } | null;
  /** Why nobody can sign in by the name that was looked for. */
  readonly unknown: string | null;
}

/** Whose tokens an organization takes. */
export class IssuerDirectory {
  readonly #changes: Changes;
  readonly #repository: AuthRepository;
  readonly #keys: KeyRing;
  readonly #directories: Directories;
  readonly #secrets: IssuerSecrets;

  constructor(
    changes: Changes,
    repository: AuthRepository,
    keys: KeyRing,
    directories: Directories,
    secrets: IssuerSecrets,
  ) {
    this.#changes = changes;
    this.#repository = repository;
    this.#keys = keys;
    this.#directories = directories;
    this.#secrets = secrets;
  }

  list(organization: Organization): Promise<readonly Issuer[]> {
    return this.#repository.issuers(organization.id);
  }

  /**
   * An issuer is one organization's: a token must not be good in two.
   * @throws MusterError `invalid_field` also where its keys cannot be fetched, `already_exists`, `issuer_taken`, `too_busy`
   */
  async create(organization: Organization, asked: AskedIssuer, actor: Actor): Promise<Issuer> {
    const { now } = this.#changes;
    const id = this.#changes.newId();
    const { secret } = asked;
    if (secret === undefined && hasSecret(asked)) throw secretMissing(asked, 'say it');
    const issuer: Issuer = { ...(await this.#checked(asked, id)), id, organization, createdAt: now };
    const { name, kind, source, audience, userClaim, tenant } = issuer;
    const orgId = organization.id;
    const recognized = recognizedBy(issuer);
    await this.#changes.apply(
      {
        orgId,
        actor,
        action: 'issuer.create',
        target: name,
        detail: { kind, issuer: issuer.issuer, audience, ...signInDetail(issuer) },
      },
      async (trx) => {
        const held = await trx.selectFrom('issuers').select('name').where('org_id', '=', orgId).execute();
        if (held.some((one) => one.name === name)) throw new MusterError('already_exists', { kind: 'issuer', name });
        if (held.length >= ISSUER_LIMITS.perOrganization) {
          throw new MusterError('too_busy', { what: 'issuers', limit: ISSUER_LIMITS.perOrganization });
        }
        const same = trx.selectFrom('issuers').select('id').where('recognized', '=', recognized);
        if ((await same.executeTakeFirst()) !== undefined) throw new MusterError('issuer_taken', { name });
        await trx
          .insertInto('issuers')
          .values({
            ...{ id, org_id: orgId, name, kind, source, recognized, issuer: issuer.issuer, audience, tenant },
            ...{ user_claim: userClaim, ...settingsOf(issuer), created_at: now },
            sealed: secret === undefined ? null : this.#secrets.seal(issuer, secret),
          })
          .execute();
      },
    );
    return issuer;
  }

  /**
   * In place: its name stays, and who has signed in stays so, unless it is another one from now on whom it vouches for.
   * @throws MusterError `invalid_field` also where its keys cannot be fetched, `issuer_taken`, `not_found` when it was removed meanwhile
   */
  async change(organization: Organization, present: Issuer, asked: AskedIssuer, actor: Actor): Promise<Issuer> {
    const { id } = present;
    const { secret } = asked;
    requireSameKind(present, asked);
    const issuer: Issuer = { ...present, ...(await this.#checked(asked, id)), name: present.name };
    const { name, kind, source, audience, userClaim, tenant } = issuer;
    const recognized = recognizedBy(issuer);
    const signedOut = !sameSignIns(present, issuer);
    const detail = { kind, issuer: issuer.issuer, audience, ...signInDetail(issuer), signed_out: signedOut };
    const orgId = organization.id;
    await this.#changes.apply({ orgId, actor, action: 'issuer.change', target: name, detail }, async (trx) => {
      const same = trx.selectFrom('issuers').select('id').where('recognized', '=', recognized).where('id', '!=', id);
      if ((await same.executeTakeFirst()) !== undefined) throw new MusterError('issuer_taken', { name });
      const changed = await trx
        .updateTable('issuers')
        .set({
          ...{ kind, source, recognized, issuer: issuer.issuer, audience, tenant },
          ...{ user_claim: userClaim, ...settingsOf(issuer) },
          ...(secret !== undefined && { sealed: this.#secrets.seal(issuer, secret) }),
          ...(!hasSecret(issuer) && { sealed: null }),
        })
        .where('id', '=', id)
        .executeTakeFirst();
      if (changed.numUpdatedRows === 0n) throw new MusterError('not_found', { kind: 'issuer', name });
      if (signedOut) await signOut(trx, id);
    });
    return issuer;
  }

  /** Whoever has signed in there is signed out. */
  async remove(organization: Organization, name: string, actor: Actor): Promise<void> {
    const orgId = organization.id;
    await this.#changes.apply({ orgId, actor, action: 'issuer.delete', target: name }, async (trx) => {
      const named = trx.selectFrom('issuers').select('id').where('org_id', '=', orgId).where('name', '=', name);
      const id = (await named.executeTakeFirst())?.id;
      if (id === undefined) throw new MusterError('not_found', { kind: 'issuer', name });
      await trx.deleteFrom('issuers').where('id', '=', id).execute();
      await signOut(trx, id);
    });
  }

  /**
   * Tries whether it can be used now, and what it knows of somebody.
   * @throws MusterError `not_found`, `directory_test_failed`, `secret_unreadable`, `issuer_unavailable`, `invalid_field`
   */
  async test(organization: Organization, name: string, user: string | null): Promise<Tried> {
    const issuer = (await this.list(organization)).find((one) => one.name === name);
    if (issuer === undefined) throw new MusterError('not_found', { kind: 'issuer', name });
    const directory = directoryOf(issuer);
    const tried = { kind: issuer.kind, keys: null, person: null, unknown: null };
    if (directory === null) {
      if (user !== null) throw new MusterError('invalid_field', { field: 'user', reason: 'it is no directory' });
      try {
        return { ...tried, keys: await this.#keys.check(issuer) };
      } catch (error) {
        throw new MusterError('issuer_unavailable', { name, reason: reasonOf(error) }, { cause: error });
      }
    }
    try {
      return await this.#directories.ask(issuer.id, directory, async (people) => {
        await people.checkBases();
        if (user === null) return tried;
        const person = await people.find(user);
        if ('unknown' in person) return { ...tried, unknown: person.unknown };
        const unknown = directory.ldap.createUsers ? null : await this.#notMember(organization, person.name);
        return { ...tried, unknown, person: { ...person, groups: [...person.groups].sort() } };
      });
    } catch (error) {
      if (error instanceof MusterError && error.code === 'secret_unreadable') throw error;
      throw new MusterError('directory_test_failed', { name, reason: reasonOf(error) }, { cause: error });
    }
  }

  /** Why the person whom a directory knows could not sign in here, though it does not make users; null: they could. */
  async #notMember({ id, name }: Organization, user: string): Promise<string | null> {
    if (await this.#repository.isMember(id, user)) return null;
    return `no user '${user}' belongs to organization '${name}', and the issuer makes no users (--create-users)`;
  }

  /** Its keys are looked for now: who configures it learns what is wrong, and not its users. */
  async #checked({ secret, ...asked }: AskedIssuer, id: string): Promise<NewIssuer> {
    checkSignIn(asked);
    checkLdap(asked);
    if (asked.ldap !== null) {
      const directory = { ...asked, ldap: asked.ldap };
      await this.#directories
        .ask(id, directory, (people) => people.checkBases(), { password: secret })
        .catch((error: unknown) => {
          throw new MusterError('invalid_field', { field: 'ldap', reason: reasonOf(error) }, { cause: error });
        });
      return asked;
    }
    if (asked.kind === 'public_key') return { ...asked, source: pemKey(asked.source).pem };
    const invalid = (reason: string) => new MusterError('invalid_field', { field: asked.kind, reason });
    if (!URL.canParse(asked.source)) throw invalid('must be a URL');
    try {
      const issuer = asked.kind === 'oidc' ? (await this.#keys.discover(asked.source)).issuer : asked.issuer;
      await this.#keys.check(asked);
      return { ...asked, issuer };
    } catch (error) {
      throw invalid(reasonOf(error));
    }
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A directory does not become a provider, nor is a secret told to another one. @throws MusterError `invalid_field` */
function requireSameKind(present: Issuer, asked: AskedIssuer): void {
  const { kind, secret } = asked;
  if ((kind === 'ldap') !== (present.kind === 'ldap'))
    throw new MusterError('invalid_field', { field: kind, reason: 'a directory and a provider are two issuers' });
  if (!hasSecret(asked) || secret !== undefined) return;
  if (!hasSecret(present)) throw secretMissing(asked, 'say it');
  if (goesElsewhere({ ...asked, id: present.id }, present))
    throw secretMissing(asked, 'say it again: the one that is kept is told nobody but whom it was given for');
}

function hasSecret({ signIn, ldap }: NewIssuer): boolean {
  return ldap !== null || signIn?.confidential === true;
}

function secretMissing({ ldap }: NewIssuer, reason: string): MusterError {
  const field = ldap === null ? 'sign_in.client_secret' : 'directory.bind_password';
  return new MusterError('invalid_field', { field, reason });
}

function settingsOf({ signIn, ldap }: NewIssuer) {
  return {
    sign_in: signIn === null ? null : JSON.stringify(signIn),
    ldap: ldap === null ? null : JSON.stringify(ldap),
  };
}

async function signOut(trx: Trx, issuerId: string): Promise<void> {
  await trx.deleteFrom('access_tokens').where('issuer_id', '=', issuerId).execute();
  await trx.deleteFrom('directory_users').where('issuer_id', '=', issuerId).execute();
}

/**
 * `iss` of its tokens, or else the key, with their audience, and with their tenant where several have one gateway. A directory issues
 * none, and may serve several organizations.
 */
function recognizedBy({ id, kind, issuer, source, audience, tenant }: Issuer): string {
  if (kind === 'ldap') return JSON.stringify(['ldap', id]);
  return JSON.stringify([issuer ?? secretHash(source), audience, tenant]);
}

/** Who signed in at the one would be the same at the other. */
function sameSignIns(one: NewIssuer, other: NewIssuer): boolean {
  const who = ({ kind, source, issuer, userClaim, tenant, signIn, ldap }: NewIssuer): string =>
    JSON.stringify([kind, source, issuer, userClaim, tenant, signIn?.clientId ?? null, ldap?.userBase ?? null]);
  return who(one) === who(other);
}

function checkSignIn({ kind, signIn }: NewIssuer): void {
  if (signIn === null) return;
  const invalid = (field: string, reason: string) =>
    new MusterError('invalid_field', { field: `sign_in${field}`, reason });
  if (kind !== 'oidc') throw invalid('', 'people sign in at an OpenID provider: give oidc');
  if (!signIn.scope.split(' ').includes('openid')) throw invalid('.scope', "must have 'openid' among its words");
  const mapped = Object.keys(signIn.groups).length;
  if (signIn.groupsClaim === null && mapped > 0) throw invalid('.groups_claim', 'say which claim has those groups');
  if (signIn.groupsClaim !== null && mapped === 0)
    throw invalid('.groups', 'say which group here each value means: no other value gives anything');
}

/** What the audit keeps of it. */
function signInDetail({ source, signIn, ldap }: NewIssuer): AuditEntry['detail'] {
  const rules = signIn ?? ldap;
  if (rules === null) return {};
  const groups = Object.entries(rules.groups).map(([value, group]) => `${value}=${group}`);
  return {
    ...(signIn !== null && { client_id: signIn.clientId, groups_claim: signIn.groupsClaim }),
    ...(ldap !== null && {
      ldap: source,
      bind_dn: ldap.bindDn,
      user_base: ldap.userBase,
      user_filter: ldap.userFilter,
    }),
    groups: groups.join(' '),
    create_users: rules.createUsers,
    ttl: rules.ttlSeconds,
  };
}
