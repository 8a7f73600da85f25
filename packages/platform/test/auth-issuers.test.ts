import { createHmac, generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { NewIssuer } from '../src/auth/issuers/types.js';
import { ISSUER_LIMITS } from '../src/auth/issuers/types.js';
import { MusterError } from '../src/errors.js';
import { type Directory, openDirectory } from './support/directory.js';
import { issue, newIssuer, wso2 } from './support/jwt.js';
import { ME } from './support/personas.js';

const gateway = newIssuer();
const stranger = newIssuer();

let directory: Directory;
/** What is published, by URL, and how often it was asked for. */
let published: Map<string, unknown>;
let fetched: string[];

beforeEach(async () => {
  published = new Map();
  fetched = [];
  directory = await openDirectory(async (url) => {
    fetched.push(url.href);
    if (!published.has(url.href)) throw new Error('it answers with status 404');
    return published.get(url.href);
  });
  await directory.addUser('jdoe');
});
afterEach(async () => directory.close());

const create = (issuer: Partial<NewIssuer>, organization = directory.organization) =>
  directory.auth.issuers.create(
    organization,
    {
      ...{ name: 'gateway', kind: 'public_key', source: gateway.publicKey },
      ...{ issuer: null, audience: null, userClaim: null, tenant: null, signIn: null, ldap: null },
      ...issuer,
    },
    ME,
  );
const now = () => directory.clock.now();
const token = (claims: object, header = {}) => issue(gateway, now(), { ...claims }, header);
const bearer = (text: string, organization: Directory['organization'] | null = directory.organization) =>
  directory.auth.authentication.byJwt({ token: text, tenant: null }, organization);
const assertion = (text: string, tenant: string) => directory.auth.authentication.byJwt({ token: text, tenant }, null);
const refusal = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'accepted',
    (error: unknown) => (error instanceof MusterError ? `${error.status} ${error.message}` : Promise.reject(error)),
  );

describe('a token of an issuer', () => {
  test('is that of the user of this name who belongs to the organization', async () => {
    await create({});
    const { identity, organization } = await bearer(await token({ sub: 'jdoe' }));
    const member = (await directory.auth.repository.candidates(directory.organization.id, 'jdoe'))[0];
    expect(identity).toMatchObject({ name: 'jdoe', type: 'user', principalId: member?.principalId, publicKey: null });
    expect(identity.external).toBeUndefined();
    expect(organization.name).toBe('default');
  });

  test('is of nobody else who is called so: such a one has what every member has, and no group', async () => {
    await create({});
    await directory.addUser('root', null);
    await directory.auth.groups.put(directory.organization, 'admins', { users: ['root'], clients: [], groups: [] }, ME);
    const { identity } = await bearer(await token({ sub: 'root' }));
    expect(identity).toMatchObject({ name: 'root', external: true, serverAdmin: false });
    const may = (permission: 'job:use' | 'job:admin' | 'org:admin') =>
      directory.auth.authorize(identity, directory.organization, permission);
    expect([await may('job:use'), await may('job:admin'), await may('org:admin')]).toEqual([true, false, false]);
    const users = { users: ['root', 'jdoe'], clients: [], groups: [] };
    await directory.auth.groups.put(directory.organization, 'job_users', users, ME);
    expect(await may('job:use')).toBe(false);
  });

  test('never makes a server administrator, also where the user is one', async () => {
    await create({});
    const { publicKey } = newIssuer();
    const { auth, organization } = directory;
    await auth.principals.createUser({ name: 'boss', publicKey, serverAdmin: true, organization, groups: [] }, ME);
    expect((await bearer(await token({ sub: 'boss' }))).identity.serverAdmin).toBe(false);
  });

  test.each<[string, () => Promise<string> | string]>([
    ['no key of its issuer has signed it', () => issue(stranger, now(), { sub: 'jdoe' })],
    ['it has expired', () => token({ sub: 'jdoe', exp: Math.floor(now() / 1000) - ISSUER_LIMITS.skewSeconds - 1 })],
    ['its claim exp is missing', () => token({ sub: 'jdoe', exp: undefined })],
    [
      'its claim nbf is missing or not the expected one',
      () => token({ sub: 'jdoe', nbf: Math.floor(now() / 1000) + 120 }),
    ],
    ['it names no user: its claim sub is missing', () => token({})],
    ['it names no user: its claim sub is empty', () => token({ sub: '' })],
    ['it names no user: its claim sub is a list', () => token({ sub: ['jdoe'] })],
    ['it names no user: its claim sub is no text', () => token({ sub: 7 })],
    ['it names no user: its claim sub is no name that a user can have', () => token({ sub: '../etc' })],
    ['its user is of another tenant', () => token(wso2('jdoe', 'other'))],
    ['it is not signed', async () => unsigned('none')],
    ['it is not signed', async () => unsigned('NoNe')],
    ['no key of its issuer has signed it', () => hmacWithPublicKey()],
    ['no key of its issuer has signed it', () => token({ sub: 'jdoe' }, { alg: 'PS256' })],
    ['it cannot be read', () => 'a.b.c'],
    ['it has more than 8192 characters', () => token({ sub: 'jdoe', pad: 'x'.repeat(8192) })],
  ])('is refused: %s', async (reason, made) => {
    await create({});
    expect(await refusal(bearer(await made()))).toContain(`401 the token is not accepted: ${reason}`);
  });

  test('is good a little beyond its end, as clocks differ', async () => {
    await create({});
    const text = await token({ sub: 'jdoe', exp: Math.floor(now() / 1000) - ISSUER_LIMITS.skewSeconds + 1 });
    expect(await refusal(bearer(text))).toBe('accepted');
  });

  test('of another issuer or for another audience is refused', async () => {
    await create({ issuer: 'https://idp', audience: 'muster' });
    const good = { sub: 'jdoe', iss: 'https://idp', aud: ['x', 'muster'] };
    expect(await refusal(bearer(await token(good)))).toBe('accepted');
    expect(await refusal(bearer(await token({ ...good, iss: 'https://other' })))).toContain('nobody here takes tokens');
    expect(await refusal(bearer(await token({ ...good, aud: 'x' })))).toContain(
      'its audience (aud) is "x", and not \'muster\'',
    );
    expect(await refusal(bearer(await token({ ...good, aud: undefined })))).toContain(
      "its audience (aud) is missing, and not 'muster'",
    );
  });

  test('is taken no more when its issuer is deleted', async () => {
    await create({});
    const text = await token({ sub: 'jdoe' });
    const { identity, credential } = await bearer(text);
    const realm = { organization: directory.organization, administration: false };
    const { authentication } = directory.auth;
    expect(await authentication.again({ identity, credential }, realm, now())).toMatchObject({ name: 'jdoe' });
    await directory.auth.issuers.remove(directory.organization, 'gateway', ME);
    expect(await refusal(bearer(text))).toContain('401');
    expect(await authentication.again({ identity, credential }, realm, now())).toBeNull();
  });

  test('tells its organization where the path names none', async () => {
    const other = await directory.auth.organizations.create('other', ME);
    await create({ issuer: 'https://one' });
    await create({ issuer: 'https://two', source: stranger.publicKey }, other);
    const one = await bearer(await token({ sub: 'jdoe', iss: 'https://one' }), null);
    const two = await bearer(await issue(stranger, now(), { sub: 'jdoe', iss: 'https://two' }), null);
    expect([one.organization.name, two.organization.name]).toEqual(['default', 'other']);
    expect(two.identity.external).toBe(true);
    expect(await refusal(bearer(await issue(stranger, now(), { sub: 'jdoe', iss: 'https://one' }), null))).toContain(
      '401',
    );
  });

  test('is refused by a declared error that does not repeat it, whatever it is', async () => {
    await create({});
    const part = fc.oneof(
      fc.base64String(),
      fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value)).toString('base64url')),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string(),
          fc.array(part, { maxLength: 4 }).map((parts) => parts.join('.')),
        ),
        async (text) => {
          const said = await refusal(bearer(text));
          expect(said).toMatch(/^401 the token is not accepted/);
          if (text.length > 20) expect(said).not.toContain(text);
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('a JWT assertion (sheet §8.2)', () => {
  test('is of the tenant that the name of its header says, and of the user before @ or after /', async () => {
    await create({});
    for (const [user, header] of [
      ['jdoe', 'default'],
      ['jdoe@carbon.super', 'DEFAULT'],
      ['PORTALS/jdoe', 'default'],
    ] as const) {
      const { identity, organization } = await assertion(await token(wso2(user, 'default')), header);
      expect(identity).toMatchObject({ name: 'jdoe', roles: 'Internal/everyone,Internal/jobs' });
      expect(organization.name).toBe('default');
    }
  });

  test('finds AGAVE-DEV and agave.dev in the organization agave_dev', async () => {
    const organization = await directory.auth.organizations.create('agave_dev', ME);
    await create({}, organization);
    for (const tenant of ['AGAVE-DEV', 'agave_dev', 'agave.dev']) {
      const proved = await assertion(await token(wso2('jdoe', 'agave.dev')), tenant);
      expect(proved.organization.name).toBe('agave_dev');
    }
  });

  test('whose tenant claim and header do not agree is refused', async () => {
    const other = await directory.auth.organizations.create('other', ME);
    await create({});
    await create({ source: stranger.publicKey }, other);
    expect(await refusal(assertion(await token(wso2('jdoe', 'other')), 'default'))).toContain('401');
    expect(await refusal(assertion(await token(wso2('jdoe', 'default')), 'other'))).toContain('401');
    expect(await refusal(assertion(await token(wso2('jdoe', 'default')), 'nowhere'))).toContain('401');
    expect(await refusal(assertion(await token({ sub: 'jdoe' }), 'default'))).toContain('does not say of which tenant');
  });

  test('may say the tenant as its issuer is known to', async () => {
    await create({ tenant: '-9999' });
    expect(await refusal(assertion(await token(wso2('jdoe', '-9999')), 'default'))).toBe('accepted');
  });

  test('is signed with RS256 and nothing else', async () => {
    const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    await create({ source: ec.publicKey.export({ type: 'spki', format: 'pem' }).toString() });
    const text = await issue(ec, now(), wso2('jdoe', 'default'), { alg: 'ES256' });
    expect(await refusal(bearer(text))).toBe('accepted');
    expect(await refusal(assertion(text, 'default'))).toContain('an assertion is signed with RS256');
  });
});

describe('keys that an issuer publishes', () => {
  const JWKS = 'https://idp.example.org/keys';
  const jwks = (kids: readonly ReturnType<typeof newIssuer>[]) =>
    published.set(JWKS, { keys: kids.map(({ jwk }) => jwk) });
  const first = newIssuer('k1');
  const second = newIssuer('k2');

  test('are fetched once for a while, and again for a key that is not known, but not at once again', async () => {
    jwks([first]);
    await create({ kind: 'jwks', source: JWKS, issuer: 'https://idp', audience: null });
    const text = (by: typeof first, kid: string) => issue(by, now(), { sub: 'jdoe', iss: 'https://idp' }, { kid });
    fetched.length = 0;
    for (let turn = 0; turn < 3; turn++) await bearer(await text(first, 'k1'));
    expect(fetched).toHaveLength(1);
    jwks([second]);
    expect(await refusal(bearer(await text(second, 'k2')))).toContain('401');
    expect(fetched).toHaveLength(1);
    directory.clock.advance(ISSUER_LIMITS.refetchMs);
    expect(await refusal(bearer(await text(second, 'k2')))).toBe('accepted');
    expect(await refusal(bearer(await text(first, 'k1')))).toContain('401');
    expect(fetched).toHaveLength(2);
  });

  test('are good for an hour while they cannot be fetched, and then no more', async () => {
    jwks([first]);
    await create({ kind: 'jwks', source: JWKS });
    const text = () => issue(first, now(), { sub: 'jdoe' }, { kid: 'k1' });
    await bearer(await text());
    published.clear();
    directory.clock.advance(ISSUER_LIMITS.keysMs);
    expect(await refusal(bearer(await text()))).toBe('accepted');
    directory.clock.advance(ISSUER_LIMITS.staleMs);
    expect(await refusal(bearer(await text()))).toBe(
      "503 the keys of issuer 'gateway' cannot be had: it answers with status 404",
    );
  });

  test('that are symmetric, for encryption, or weak are none', async () => {
    const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' });
    const oct = { kty: 'oct', k: Buffer.from('secret').toString('base64url'), alg: 'HS256' };
    published.set(JWKS, { keys: [oct, weak, { ...first.jwk, use: 'enc' }, 7, null] });
    expect(await refusal(create({ kind: 'jwks', source: JWKS }))).toBe(
      '400 invalid jwks: it has no key with which signatures can be verified',
    );
  });

  test('are found by discovery, where the issuer is the one that was named', async () => {
    const base = 'https://idp.example.org/realm';
    const at = `${base}/.well-known/openid-configuration`;
    published.set(at, { issuer: base, jwks_uri: JWKS });
    jwks([first]);
    expect(await create({ kind: 'oidc', source: base, audience: 'muster' })).toMatchObject({ issuer: base });
    const text = await issue(first, now(), { sub: 'jdoe', iss: base, aud: 'muster' }, { kid: 'k1' });
    expect(await refusal(bearer(text, null))).toBe('accepted');
    published.set(at, { issuer: 'https://other', jwks_uri: JWKS });
    expect(await refusal(create({ name: 'two', kind: 'oidc', source: base }))).toContain(
      '400 invalid oidc: its issuer is not https://idp.example.org/realm',
    );
  });
});

describe('issuers of an organization', () => {
  test('are listed, created and deleted, and the audit knows', async () => {
    await create({});
    expect(await refusal(create({ source: stranger.publicKey }))).toBe("409 issuer 'gateway' already exists");
    await directory.auth.issuers.remove(directory.organization, 'gateway', ME);
    expect(await directory.auth.issuers.list(directory.organization)).toEqual([]);
    expect(await refusal(directory.auth.issuers.remove(directory.organization, 'gateway', ME))).toContain('404');
    const entries = await directory.auth.audit.page({ orgId: directory.organization.id, limit: 2 });
    expect(entries.map(({ action }) => action)).toEqual(['issuer.delete', 'issuer.create']);
  });

  test('have their tokens for themselves: a token is good in one organization', async () => {
    const other = await directory.auth.organizations.create('other', ME);
    await create({});
    expect(await refusal(create({}, other))).toContain("409 tokens of issuer 'gateway' are known by");
    await create({ name: 'idp', issuer: 'https://idp', source: stranger.publicKey, audience: 'a' });
    expect(await refusal(create({ issuer: 'https://idp', audience: 'a' }, other))).toContain('409');
    expect(await refusal(create({ issuer: 'https://idp', audience: 'b' }, other))).toBe('accepted');
  });

  test('may share a gateway, which says for each token of which tenant it is', async () => {
    const other = await directory.auth.organizations.create('other', ME);
    await create({ tenant: 'default' });
    await create({ tenant: 'other' }, other);
    expect((await bearer(await token(wso2('jdoe', 'other')), null)).organization.name).toBe('other');
    expect((await assertion(await token(wso2('jdoe', 'default')), 'default')).organization.name).toBe('default');
    expect(await refusal(bearer(await token({ sub: 'jdoe' }), null))).toContain('does not say of which tenant');
  });

  test.each([
    '',
    'x',
    '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----',
    '-----BEGIN PUBLIC KEY-----\nAAAA',
  ])('are refused with %j for a key', async (source) => {
    expect(await refusal(create({ source }))).toContain('400 invalid public_key');
  });
});

function unsigned(alg: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg })}.${part({ sub: 'jdoe', exp: Math.floor(now() / 1000) + 60 })}.`;
}

/** The trick with which a public key is taken for a secret. */
function hmacWithPublicKey(): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${part({ alg: 'HS256' })}.${part({ sub: 'jdoe', exp: Math.floor(now() / 1000) + 60 })}`;
  return `${signed}.${createHmac('sha256', gateway.publicKey).update(signed).digest('base64url')}`;
}
