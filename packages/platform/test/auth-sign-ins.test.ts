import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ISSUER_LIMITS, type NewIssuer, type SignIn } from '../src/auth/issuers/types.js';
import { MusterError } from '../src/errors.js';
import { EVENT_LIMITS } from '../src/events/limits.js';
import { EventAuthority } from '../src/events/login.js';
import { StoredNonces } from '../src/events/stored-nonces.js';
import { type Directory, openDirectory } from './support/directory.js';
import { issue, newIssuer } from './support/jwt.js';
import { FOLLOWERS } from './support/layers.js';
import { ME, sharedKey } from './support/personas.js';

/** People sign in at an OpenID provider of an organization. */

const PROVIDER = 'https://login.example.org';
const KEYS = `${PROVIDER}/keys`;
const CLIENT = 'muster-cli';
const provider = newIssuer('k1');
const stranger = newIssuer('k1');

const SIGN_IN: SignIn = {
  clientId: CLIENT,
  confidential: false,
  scope: 'openid',
  groupsClaim: 'groups',
  groups: { '/ops': 'operators', '/root': 'admins', '/old': 'pushy_job_writers' },
  createUsers: false,
  ttlSeconds: 3600,
};

let directory: Directory;

beforeEach(async () => {
  const published = new Map<string, unknown>([
    [`${PROVIDER}/.well-known/openid-configuration`, { issuer: PROVIDER, jwks_uri: KEYS }],
    [KEYS, { keys: [provider.jwk] }],
  ]);
  directory = await openDirectory(async (url) => published.get(url.href) ?? Promise.reject(new Error('status 404')));
  await directory.addUser('jdoe');
});
afterEach(async () => directory.close());

const create = (signIn: Partial<SignIn> = {}, more: Partial<NewIssuer> = {}, organization = directory.organization) =>
  directory.auth.issuers.create(
    organization,
    {
      ...{ name: 'work', kind: 'oidc', source: PROVIDER, issuer: null, audience: 'muster' },
      ...{ userClaim: null, tenant: null, signIn: { ...SIGN_IN, ...signIn }, ldap: null },
      ...more,
    },
    ME,
  );

const now = () => directory.clock.now();
const seconds = () => Math.floor(now() / 1000);
/** As the provider gives it to the command line. */
const idToken = (claims: object = {}, by = provider) =>
  issue(by, now(), { sub: 'jdoe', iss: PROVIDER, aud: CLIENT, iat: seconds(), ...claims }, { kid: 'k1' });
const signIn = (token: string, organization = directory.organization) =>
  directory.auth.signIns.begin(organization, 'work', token, '192.0.2.1');
const refusal = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'accepted',
    (error: unknown) => (error instanceof MusterError ? `${error.status} ${error.message}` : Promise.reject(error)),
  );
const realm = (organization: Directory['organization'] | null) => ({ organization, administration: true });
const bearing = (token: string, organization: Directory['organization'] | null = directory.organization) =>
  directory.auth.authentication.byToken(token, realm(organization), now());
const members = async (group: string) =>
  (await directory.auth.groups.list(directory.organization.id)).find(({ name }) => name === group)?.users ?? null;

describe('an issuer that is changed in place', () => {
  const change = async (more: Partial<NewIssuer>) => {
    const [present] = await directory.auth.issuers.list(directory.organization);
    if (present === undefined) throw new Error('there is no issuer');
    return directory.auth.issuers.change(directory.organization, present, { ...present, ...more }, ME);
  };
  const only = async () => (await directory.auth.issuers.list(directory.organization))[0];

  test('keeps who has signed in, and gives others groups from the next sign-in on', async () => {
    await create();
    const { token } = await signIn(await idToken({ groups: ['/ops'] }));
    await change({ signIn: { ...SIGN_IN, groups: { '/ops': 'deployers' }, ttlSeconds: 60 } });
    expect((await bearing(token)).identity).toMatchObject({ name: 'jdoe' });
    expect(await members('deployers')).toBe(null);
    const { expiresAt } = await signIn(await idToken({ groups: ['/ops'], jti: '2' }));
    expect(expiresAt).toBe(now() + 60_000);
    expect(await members('deployers')).toEqual(['jdoe']);
  });

  test.each<[string, Partial<NewIssuer>]>([
    ['another client', { signIn: { ...SIGN_IN, clientId: 'other' } }],
    ['nobody who signs in', { signIn: null }],
    ['another claim for the name', { userClaim: 'preferred_username' }],
    ['a tenant', { tenant: 'elsewhere' }],
  ])('signs everybody out when there is %s', async (_, more) => {
    await create();
    const { token } = await signIn(await idToken());
    await change(more);
    expect(await refusal(bearing(token))).toContain('401');
  });

  test('is as it was when the change is refused', async () => {
    await create();
    const before = await only();
    expect(await refusal(change({ source: 'https://elsewhere.example.org' }))).toContain('invalid oidc');
    expect(await refusal(change({ kind: 'jwks', source: KEYS }))).toContain('sign_in');
    expect(await refusal(change({ signIn: { ...SIGN_IN, groupsClaim: null } }))).toContain('groups_claim');
    expect(await only()).toEqual(before);
  });

  test('is not made the same as another one, nor changed when it was removed meanwhile', async () => {
    await create();
    await create({}, { name: 'other', audience: 'other', signIn: null });
    const [other, work] = await directory.auth.issuers.list(directory.organization);
    if (other === undefined || work === undefined) throw new Error('there are two');
    const same = directory.auth.issuers.change(directory.organization, other, { ...other, audience: 'muster' }, ME);
    expect(await refusal(same)).toContain('are known by what another');
    await directory.auth.issuers.remove(directory.organization, 'other', ME);
    expect(
      await refusal(directory.auth.issuers.change(directory.organization, other, { ...other, audience: 'x' }, ME)),
    ).toContain('404');
  });

  test('is in the audit, with whether people were signed out', async () => {
    await create();
    await change({ signIn: null });
    const entries = await directory.auth.audit.page({
      orgId: directory.organization.id,
      limit: 10,
      action: 'issuer.change',
    });
    expect(entries).toMatchObject([{ target: 'work', detail: { signed_out: true } }]);
  });
});

describe('who signs in', () => {
  test('gets an access token of the user, for so long as the issuer says', async () => {
    await create();
    const { token, user, expiresAt } = await signIn(await idToken());
    expect([user, expiresAt]).toEqual(['jdoe', now() + 3_600_000]);
    expect((await bearing(token)).identity).toMatchObject({ name: 'jdoe', type: 'user', publicKey: null });
    directory.clock.advance(3_600_000);
    expect(await refusal(bearing(token))).toContain('401');
  });

  test('is in the audit and in the events, without the tokens', async () => {
    await create();
    const given = await idToken({ groups: ['/ops'] });
    const { token } = await signIn(given);
    const [entry, made] = await directory.auth.audit.page({ orgId: directory.organization.id, limit: 2 });
    // A group that is not there yet is made by whoever is the first in it.
    expect(made).toMatchObject({ action: 'group.set', target: 'operators', detail: { issuer: 'work', users: 'jdoe' } });
    expect(entry).toMatchObject({
      ...{ action: 'login.begin', target: 'jdoe', actor: { name: 'jdoe', kind: 'user', address: '192.0.2.1' } },
      detail: { issuer: 'work', ttl: 3600, created: false, joined: 'operators', left: '' },
    });
    expect(JSON.stringify(entry)).not.toContain(given);
    expect(JSON.stringify(entry)).not.toContain(token);
  });

  test.each<[string, () => Promise<string>]>([
    [`its audience (aud) is "muster", and not '${CLIENT}'`, () => idToken({ aud: 'muster' })],
    ['it was given to another client', () => idToken({ azp: 'other' })],
    ['it was given to another client', () => idToken({ aud: [CLIENT, 'other'] })],
    ['it has expired', () => idToken({ exp: seconds() - ISSUER_LIMITS.skewSeconds - 1 })],
    ['it was issued more than 10 minutes ago', () => idToken({ iat: seconds() - 661 })],
    ['it was issued more than 10 minutes ago', () => idToken({ iat: undefined })],
    ["it is not of issuer 'work'", () => idToken({ iss: 'https://other' })],
    ['no key of its issuer has signed it', () => idToken({}, stranger)],
    ['it names no user: its claim sub is no name that a user can have', () => idToken({ sub: '../etc' })],
    ['it cannot be read', async () => 'a.b.c'],
  ])('is refused: %s', async (reason, made) => {
    await create();
    expect(await refusal(signIn(await made()))).toBe(`401 the token is not accepted: ${reason}`);
  });

  test('is refused by an address that the issuer has not verified', async () => {
    await directory.addUser('jdoe@example.org');
    await create({}, { userClaim: 'email' });
    const email = 'jdoe@example.org';
    for (const unsure of [{ email }, { email, email_verified: false }, { email, email_verified: 'true' }]) {
      expect(await refusal(signIn(await idToken(unsure)))).toContain('has not verified the address');
    }
    expect(await refusal(signIn(await idToken({ email, email_verified: true })))).toBe('accepted');
  });

  test('does it once with each token', async () => {
    await create();
    const given = await idToken();
    expect(await refusal(signIn(given))).toBe('accepted');
    const again = '401 the token is not accepted: somebody has signed in with it before';
    expect(await refusal(signIn(given))).toBe(again);
    directory.clock.advance((ISSUER_LIMITS.signInFreshSeconds + ISSUER_LIMITS.skewSeconds) * 1000);
    expect(await refusal(signIn(given))).toContain('it was issued more than 10 minutes ago');
    expect(await refusal(signIn(await idToken()))).toBe('accepted');
    expect(await directory.store.read.selectFrom('used_sign_ins').select('ends').execute()).toHaveLength(1);
  });

  test('does it only where that is offered', async () => {
    await create({}, { signIn: null });
    expect(await refusal(signIn(await idToken()))).toBe("404 nobody signs in to organization 'default' at 'work'");
    expect(await directory.auth.signIns.offered(directory.organization.id)).toEqual([]);
  });
});

describe('a user', () => {
  const unknown = (name: string, reason: string) => `403 '${name}' cannot sign in to organization 'default': ${reason}`;

  test('that there is not is refused, unless the issuer makes users', async () => {
    await create();
    const reason = unknown('newcomer', 'no user of this name belongs to it');
    expect(await refusal(signIn(await idToken({ sub: 'newcomer' })))).toBe(reason);
    await directory.auth.issuers.remove(directory.organization, 'work', ME);
    await create({ createUsers: true });
    const { token } = await signIn(await idToken({ sub: 'newcomer' }));
    expect((await bearing(token)).identity).toMatchObject({ name: 'newcomer', serverAdmin: false });
    expect(await directory.auth.principals.get(null, 'user', 'newcomer')).toMatchObject({ keys: [] });
    await signIn(await idToken({ sub: 'newcomer', jti: '2' }));
  });

  test('of another organization is not drawn into this one', async () => {
    const other = await directory.auth.organizations.create('other', ME);
    await directory.addUser('elsewhere', other);
    await create({ createUsers: true });
    const reason = unknown('elsewhere', 'the user of this name does not belong to it');
    expect(await refusal(signIn(await idToken({ sub: 'elsewhere' })))).toBe(reason);
  });

  test('is not made with a name that has been given something already', async () => {
    const users = { users: ['root'], clients: [], groups: [] };
    await directory.auth.groups.put(directory.organization, 'admins', users, ME);
    await create({ createUsers: true });
    const reason = unknown('root', 'there is no such user yet, but it is in a group');
    expect(await refusal(signIn(await idToken({ sub: 'root' })))).toBe(reason);
    expect(await directory.store.read.selectFrom('used_sign_ins').select('ends').execute()).toEqual([]);
  });
});

describe('groups', () => {
  test('are those that the claim gives, at every sign-in; others are left alone', async () => {
    const own = { users: ['jdoe'], clients: [], groups: [] };
    await directory.auth.groups.put(directory.organization, 'testers', own, ME);
    await create();
    const first = await signIn(await idToken({ groups: ['/ops', '/old', '/unknown', 7] }));
    expect(first.groups).toEqual(['operators', 'push_job_writers']);
    expect([await members('operators'), await members('admins')]).toEqual([['jdoe'], []]);
    await signIn(await idToken({ groups: '/root', jti: '2' }));
    expect([await members('operators'), await members('admins')]).toEqual([[], ['jdoe']]);
    await signIn(await idToken({ jti: '3' }));
    expect([await members('admins'), await members('testers')]).toEqual([[], ['jdoe']]);
  });

  test('that nobody has mapped are given by no claim, whatever they are called', async () => {
    await create();
    const { groups } = await signIn(await idToken({ groups: ['admins', 'operators', 'toString', '__proto__'] }));
    expect(groups).toEqual([]);
    expect(await members('admins')).toEqual([]);
  });
});

describe('what is got by signing in', () => {
  test('is good in that organization alone, and never for the server', async () => {
    const { auth, organization } = directory;
    const { publicKey } = sharedKey();
    await auth.principals.createUser({ name: 'boss', publicKey, serverAdmin: true, organization, groups: [] }, ME);
    const other = await auth.organizations.create('other', ME);
    await auth.organizations.addMember(other, 'boss', ME);
    await create();
    const { token } = await signIn(await idToken({ sub: 'boss' }));
    const proved = await bearing(token);
    expect(proved.identity.serverAdmin).toBe(false);
    expect((await auth.authentication.again(proved, realm(organization), now()))?.serverAdmin).toBe(false);
    const elsewhere = "403 'boss' has signed in to organization 'default', which is good within it alone";
    expect(await refusal(bearing(token, other))).toBe(elsewhere);
    expect(await refusal(bearing(token, null))).toBe(elsewhere);
    const { session, secret } = await auth.sessions.byToken(token, undefined, '192.0.2.1');
    expect(session).toMatchObject({ organization: { id: organization.id }, signedIn: true });
    const signedIn = (into: Parameters<typeof realm>[0]) => auth.authentication.bySession(secret, realm(into));
    expect((await signedIn(organization)).identity.serverAdmin).toBe(false);
    expect(await refusal(signedIn(other))).toBe(elsewhere);
    expect(await refusal(signedIn(null))).toBe(elsewhere);
    await auth.organizations.removeMember(organization, 'boss', ME);
    expect(await auth.sessions.live.find(session.hash)).toBeNull();
    expect(await refusal(bearing(token))).toContain('403');
    expect(await auth.authentication.again(proved, realm(organization), now())).toBeNull();
  });

  test('follows events of that organization alone', async () => {
    const { auth, clock, store } = directory;
    const failed = (error: unknown) => expect.fail(String(error));
    const nonces = new StoredNonces(store, clock, failed);
    await nonces.load();
    const authority = new EventAuthority({
      ...{ repository: auth.repository, audit: auth.audit, nonces, followers: FOLLOWERS, clock },
      ...{ sessions: auth.sessions, log: { warn: failed }, observe: () => undefined },
    });
    const other = await auth.organizations.create('other', ME);
    await auth.organizations.addMember(other, 'jdoe', ME);
    await create();
    const { token } = await signIn(await idToken());
    await authority.login('default/jdoe', token, { remote: '192.0.2.1' });
    const refused = authority.login('other/jdoe', token, { remote: '192.0.2.1' }).catch((error: unknown) => error);
    await expect.poll(() => clock.pending).toBeGreaterThan(0);
    clock.advance(EVENT_LIMITS.refusalMs);
    expect(await refused).toMatchObject({ code: 'login_refused' });
    const kept = async () => (await auth.audit.page({ orgId: other.id, limit: 1 }))[0]?.detail;
    await expect.poll(kept).toMatchObject({ reason: 'token of another organization' });
    authority.stop();
    await nonces.stop();
  });

  test('ends when the user signs out, and not by that another one', async () => {
    await create();
    const [one, two] = [await signIn(await idToken()), await signIn(await idToken({ jti: '2' }))];
    const { identity, credential } = await bearing(one.token);
    const end = () =>
      directory.auth.signIns.end(directory.organization, 'hash' in credential ? credential.hash : null, identity, ME);
    await end();
    expect(await refusal(bearing(one.token))).toContain('401');
    expect(await refusal(bearing(two.token))).toBe('accepted');
    expect(await refusal(end())).toContain("409 'jdoe' has not signed in for this request");
  });

  test('ends with the issuer', async () => {
    await create();
    const { token } = await signIn(await idToken());
    const byHand = await directory.token('jdoe');
    await directory.auth.issuers.remove(directory.organization, 'work', ME);
    expect(await refusal(bearing(token))).toContain('401');
    expect(await refusal(bearing(byHand.token))).toBe('accepted');
  });
});

test.each<[string, Partial<SignIn>, Partial<NewIssuer>]>([
  ['sign_in: people sign in at an OpenID provider', {}, { kind: 'jwks', source: KEYS }],
  ["sign_in.scope: must have 'openid' among its words", { scope: 'profile' }, {}],
  ['sign_in.groups_claim: say which claim', { groupsClaim: null }, {}],
  ['sign_in.groups: say which group here', { groups: {} }, {}],
])('an issuer is refused: invalid %s', async (reason, signIn, more) => {
  expect(await refusal(create(signIn, more))).toContain(`400 invalid ${reason}`);
});
