import { MusterError } from '../../errors.js';
import type { Changes, Trx } from '../changes.js';
import { AUTH_LIMITS } from '../limits.js';
import { canonicalGroup } from '../names.js';
import { insertMember } from '../organizations.js';
import { findPrincipal, insertPrincipal } from '../principals.js';
import type { AuthRepository } from '../repository.js';
import { trustIn } from '../trust-in.js';
import type { Actor, Identity, Organization } from '../types.js';
import type { Attempts } from './attempts.js';
import { syncGroups } from './group-sync.js';
import type { IssuedTokens, Once, SignedIn } from './issued.js';
import type { Directories } from './ldap/directories.js';
import { type Directory, directoryOf } from './ldap/people.js';
import { LDAP_LIMITS } from './ldap/types.js';
import type { SignInRules } from './rules.js';
import { SignInRefused } from './sign-in-refused.js';
import type { Issuer, SignIn } from './types.js';

export interface SignInView {
  readonly token: string;
  readonly user: string;
  readonly expiresAt: number;
  /** That the issuer is asked about and the user is a member of now, by name. */
  readonly groups: readonly string[];
}

interface SignInDeps {
  readonly changes: Changes;
  readonly repository: AuthRepository;
  readonly issued: Pick<IssuedTokens, 'signIn'>;
  readonly directories: Directories;
  readonly attempts: Attempts;
  /** A directory could not be asked for somebody. */
  readonly directoryFailed: (issuer: string, error: unknown) => void;
}

/** An issuer where people sign in by an OpenID provider. */
export interface ProviderIssuer extends Issuer {
  readonly signIn: SignIn;
}

/** What a browser left with for a provider, and must come back with. */
export interface Expected {
  /** In the ID token. */
  readonly nonce: string;
  /** Good once, as the token is. */
  readonly state: Once;
}

/** What somebody types. */
export interface TypedSignIn {
  readonly user: string;
  readonly password: string;
}

/**
 * People sign in at an issuer of an organization and get an access token, short-lived and good in that organization alone: an issuer is
 * chosen by its admins, and whom it names must get nowhere else by it.
 */
export class SignIns {
  readonly #changes: Changes;
  readonly #repository: AuthRepository;
  readonly #issued: Pick<IssuedTokens, 'signIn'>;
  readonly #directories: Directories;
  readonly #directoryFailed: SignInDeps['directoryFailed'];
  readonly #attempts: Attempts;
  /** Conversations with directories that go on. */
  #asking = 0;

  constructor({ changes, repository, issued, directories, attempts, directoryFailed }: SignInDeps) {
    this.#changes = changes;
    this.#repository = repository;
    this.#issued = issued;
    this.#directories = directories;
    this.#directoryFailed = directoryFailed;
    this.#attempts = attempts;
  }

  /** Where one can sign in, by name. */
  async offered(orgId: string): Promise<readonly Issuer[]> {
    return (await this.#repository.issuers(orgId)).filter(({ signIn, ldap }) => signIn !== null || ldap !== null);
  }

  /** @throws MusterError `sign_in_not_offered` */
  async provider(organization: Organization, name: string): Promise<ProviderIssuer> {
    const issuer = await this.#at(organization, name, ({ signIn }) => signIn !== null);
    const { signIn } = issuer;
    if (signIn === null) throw notOffered(organization, name);
    return { ...issuer, signIn };
  }

  /**
   * By an ID token.
   * @param expected Of a browser; null: it comes from the command line.
   * @throws MusterError `sign_in_not_offered`, `invalid_jwt`, `jwt_for_other`, `issuer_unavailable`, `sign_in_unknown_user`, `too_busy`, `sign_in_expired`
   */
  async begin(
    organization: Organization,
    name: string,
    idToken: string,
    address: string,
    expected: Expected | null = null,
  ): Promise<SignInView> {
    const issuer = await this.provider(organization, name);
    const { signIn } = issuer;
    const proved = await this.#issued.signIn(idToken, issuer, signIn, expected?.nonce ?? null);
    return this.#issue(issuer, signIn, proved, address, expected?.state ?? null);
  }

  /**
   * By name and password, at a directory.
   * @param name Of the issuer; undefined: the only one of that kind.
   * @throws MusterError `sign_in_not_offered`, `sign_in_unclear`, `sign_in_refused`, `sign_in_throttled`, `directory_unavailable`, `sign_in_unknown_user`, `too_busy`
   */
  async byPassword(
    organization: Organization,
    name: string | undefined,
    typed: TypedSignIn,
    address: string,
  ): Promise<SignInView> {
    const issuer = await this.#at(organization, name, ({ ldap }) => ldap !== null);
    const directory = directoryOf(issuer);
    if (directory === null) throw notOffered(organization, name);
    const { user, groups } = await this.#proved(issuer.id, directory, typed, address);
    return this.#issue(issuer, directory.ldap, { user, groups, once: null }, address);
  }

  async #at(organization: Organization, name: string | undefined, fits: (issuer: Issuer) => boolean): Promise<Issuer> {
    const fitting = (await this.offered(organization.id)).filter(fits);
    const named = name === undefined ? fitting : fitting.filter((one) => one.name === name);
    const [issuer] = named;
    if (issuer === undefined) throw notOffered(organization, name);
    if (named.length > 1)
      throw new MusterError('sign_in_unclear', { issuers: named.map((one) => one.name).join(', ') });
    return issuer;
  }

  async #proved(
    issuerId: string,
    directory: Directory,
    { user, password }: TypedSignIn,
    address: string,
  ): Promise<{ readonly user: string; readonly groups: ReadonlySet<string> }> {
    // A directory takes it for a question that needs no proof, and says yes.
    if (password === '') throw new SignInRefused(user, 'there is no password');
    const limit = LDAP_LIMITS.atOnce;
    if (this.#asking >= limit) throw new MusterError('too_busy', { what: 'people who sign in', limit });
    const forNothing = this.#attempts.begin(issuerId, user, address);
    this.#asking++;
    try {
      const person = await this.#directories.ask(issuerId, directory, async (people) => {
        const found = await people.find(user);
        if ('unknown' in found) throw new SignInRefused(user, found.unknown);
        if (!(await people.proves(found, password)))
          throw new SignInRefused(user, `${found.dn}: the directory says no`);
        return found;
      });
      forNothing();
      return { user: person.name, groups: person.groups };
    } catch (error) {
      if (error instanceof SignInRefused) throw error;
      forNothing();
      // What it is, is not for strangers.
      this.#directoryFailed(directory.name, error);
      throw new MusterError('directory_unavailable', { name: directory.name }, { cause: error });
    } finally {
      this.#asking--;
    }
  }

  /** What signs in is proved: the token, and what goes with it. @throws MusterError `sign_in_unknown_user`, `too_busy`, `invalid_jwt`, `sign_in_expired` */
  async #issue(
    issuer: Issuer,
    rules: SignInRules,
    proved: SignedIn,
    address: string,
    state: Once | null = null,
  ): Promise<SignInView> {
    const { organization, name } = issuer;
    const { user } = proved;
    // Read first: strangers whom an issuer knows must not take turns in the one lane of writes.
    if (!rules.createUsers) await this.#requireMember(organization, user);
    const { now } = this.#changes;
    const secret = this.#changes.newSecret('access', AUTH_LIMITS.tokenBytes);
    const [id, principalId] = [this.#changes.newId(), this.#changes.newId()];
    const expiresAt = now + rules.ttlSeconds * 1000;
    const detail: Record<string, string | number | boolean> = { issuer: name, id, ttl: rules.ttlSeconds };
    const actor: Actor = { name: user, kind: 'user', address };
    await this.#changes.apply(
      { orgId: organization.id, actor, action: 'login.begin', target: user, detail },
      async (trx, also) => {
        await requireIssuer(trx, issuer);
        if (state !== null && !(await useOnce(trx, organization, state, now))) throw new MusterError('sign_in_expired');
        if (proved.once !== null && !(await useOnce(trx, organization, proved.once, now)))
          throw new MusterError('invalid_jwt', { reason: 'somebody has signed in with it before' });
        const known = await memberId(trx, organization, user);
        if (known === null) await this.#create(trx, organization, { id: principalId, user, rules, now });
        const { joined, left, made } = await syncGroups(trx, organization.id, proved, rules, now);
        for (const target of made)
          also({ orgId: organization.id, actor, action: 'group.set', target, detail: { issuer: name, users: user } });
        Object.assign(detail, { created: known === null, joined: joined.join(' '), left: left.join(' ') });
        const bearer = known ?? principalId;
        await requireRoom(trx, bearer, now);
        await trx
          .insertInto('access_tokens')
          .values({
            ...{ id, principal_id: bearer, org_id: organization.id, issuer_id: issuer.id, hash: secret.hash },
            ...{ expires_at: expiresAt, created_by: user, created_at: now },
          })
          .execute();
        if (issuer.ldap !== null) {
          await trx
            .insertInto('directory_users')
            .values({ issuer_id: issuer.id, principal_id: bearer, org_id: organization.id })
            .onConflict((conflict) => conflict.doNothing())
            .execute();
        }
      },
    );
    return { token: secret.text, user, expiresAt, groups: [...proved.groups].map(canonicalGroup).sort() };
  }

  /** By the token that the user got then. @throws MusterError `not_signed_in` */
  async end(organization: Organization, hash: string | null, caller: Identity, actor: Actor): Promise<void> {
    const { name } = caller;
    const change = { orgId: organization.id, actor, action: 'login.end', target: name } as const;
    await this.#changes.apply(change, async (trx) => {
      const deleted = await trx
        .deleteFrom('access_tokens')
        .where('hash', '=', hash ?? '')
        .where('issuer_id', 'is not', null)
        .executeTakeFirst();
      if (deleted.numDeletedRows === 0n) throw new MusterError('not_signed_in', { name });
    });
  }

  async #requireMember(organization: Organization, user: string): Promise<void> {
    if (!(await this.#repository.isMember(organization.id, user))) {
      throw unknownUser(organization, user, 'no user of this name belongs to it');
    }
  }

  /** Without a key: whoever comes from there can only sign in, until an admin adds one. */
  async #create(
    trx: Trx,
    organization: Organization,
    {
      id,
      user,
      rules,
      now,
    }: { readonly id: string; readonly user: string; readonly rules: SignInRules; readonly now: number },
  ): Promise<void> {
    const refused = (reason: string) => unknownUser(organization, user, reason);
    if (!rules.createUsers) throw refused('no user of this name belongs to it');
    // Nobody is drawn into an organization without being asked.
    if ((await findPrincipal(trx, null, user)) !== undefined)
      throw refused('the user of this name does not belong to it');
    const reason = await trustIn(trx, organization.id, 'user', user);
    if (reason !== null) throw refused(`there is no such user yet, but ${reason}`);
    await insertPrincipal(trx, { id, orgId: null, type: 'user', name: user, serverAdmin: false, key: null, now });
    await insertMember(trx, organization.id, id, now);
  }
}

/** @param issuer At which somebody wanted to; undefined: at any. */
export function notOffered(
  { name: organization }: Pick<Organization, 'name'>,
  issuer: string | undefined,
): MusterError {
  if (issuer === undefined) {
    return new MusterError('sign_in_not_offered', { organization, where: '', hint: 'It has no issuer for that.' });
  }
  const hint = 'See where one can: `muster login` without --issuer, or the sign-in page of the console.';
  return new MusterError('sign_in_not_offered', { organization, where: ` at '${issuer}'`, hint });
}

/** Not changed since it was read: who was proved by what it was, maybe another directory, gets nothing by what it is. */
export async function requireIssuer(trx: Trx, { id, name, source, organization }: Issuer): Promise<void> {
  const row = await trx.selectFrom('issuers').select('source').where('id', '=', id).executeTakeFirst();
  if (row?.source !== source) throw notOffered(organization, name);
}

function unknownUser({ name: organization }: Organization, name: string, reason: string): MusterError {
  return new MusterError('sign_in_unknown_user', { name, organization, reason });
}

/** What was seen by somebody else is of no use to them. False: it was used before. */
async function useOnce(trx: Trx, { id }: Organization, { hash, endsMs }: Once, now: number): Promise<boolean> {
  await trx.deleteFrom('used_sign_ins').where('ends', '<=', now).execute();
  const used = trx.selectFrom('used_sign_ins').select('ends').where('org_id', '=', id).where('hash', '=', hash);
  if ((await used.executeTakeFirst()) !== undefined) return false;
  await trx.insertInto('used_sign_ins').values({ org_id: id, hash, ends: endsMs }).execute();
  return true;
}

async function memberId(trx: Trx, { id }: Organization, user: string): Promise<string | null> {
  const row = await trx
    .selectFrom('principals as p')
    .innerJoin('org_members as m', 'm.principal_id', 'p.id')
    .select('p.id')
    .where('p.org_id', 'is', null)
    .where('p.type', '=', 'user')
    .where('p.name', '=', user)
    .where('m.org_id', '=', id)
    .executeTakeFirst();
  return row?.id ?? null;
}

async function requireRoom(trx: Trx, principalId: string, now: number): Promise<void> {
  await trx.deleteFrom('access_tokens').where('expires_at', '<=', now).execute();
  const held = await trx.selectFrom('access_tokens').select('id').where('principal_id', '=', principalId).execute();
  if (held.length >= AUTH_LIMITS.accessTokensPerPrincipal) {
    throw new MusterError('too_busy', { what: 'access tokens', limit: AUTH_LIMITS.accessTokensPerPrincipal });
  }
}
