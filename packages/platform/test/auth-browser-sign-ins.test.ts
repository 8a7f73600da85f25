import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Attempts } from '../src/auth/issuers/attempts.js';
import { BrowserSignIns } from '../src/auth/issuers/browser-sign-ins.js';
import { Providers } from '../src/auth/issuers/providers.js';
import { type AskedIssuer, ISSUER_LIMITS, type SignIn } from '../src/auth/issuers/types.js';
import { MusterError } from '../src/errors.js';
import type { Sent } from '../src/outbound/fetch-json.js';
import { SealingKey } from '../src/secrets/sealing-key.js';
import { type Directory, openDirectory } from './support/directory.js';
import { issue, newIssuer } from './support/jwt.js';
import { ME } from './support/personas.js';

/** What becomes of a browser that signs in at a provider, where the provider or this server is not as it should be. */

const PROVIDER = 'https://login.example.org';
const REDIRECT = 'https://muster.example.org/organizations/default/login/work/callback';
const ADDRESS = '192.0.2.1';
const provider = newIssuer('k1');
const SAID = {
  ...{ issuer: PROVIDER, jwks_uri: `${PROVIDER}/keys` },
  ...{ authorization_endpoint: `${PROVIDER}/authorize`, token_endpoint: `${PROVIDER}/token` },
};

const SIGN_IN: SignIn = {
  ...{ clientId: 'muster', confidential: false, scope: 'openid', groupsClaim: null, groups: {} },
  ...{ createUsers: false, ttlSeconds: 3600 },
};

let said: object | Error;
/** What codes are good for. */
let redeem: (sent: Sent) => Promise<unknown>;
let asked: string[];
let failures: string[];
let directory: Directory;

const fetched = async (url: URL, sent?: Sent): Promise<unknown> => {
  asked.push(url.pathname);
  if (sent !== undefined) return redeem(sent);
  if (url.pathname === '/keys') return { keys: [provider.jwk] };
  if (said instanceof Error) throw said;
  return said;
};

beforeEach(async () => {
  said = SAID;
  asked = [];
  failures = [];
  directory = await openDirectory(fetched, { providerFailed: (_, error) => failures.push(String(error)) });
  await directory.addUser('jdoe');
  await directory.auth.issuers.create(
    directory.organization,
    {
      ...{ name: 'work', kind: 'oidc', source: PROVIDER, issuer: null, audience: 'muster', userClaim: null },
      ...{ tenant: null, signIn: SIGN_IN, ldap: null },
    },
    ME,
  );
  asked = [];
});
afterEach(async () => directory.close());

/** As another server of a cluster has them, with this key. */
function elsewhere(key: Uint8Array): BrowserSignIns {
  const { auth, clock } = directory;
  return new BrowserSignIns({
    ...{ changes: auth.changes, signIns: auth.signIns, attempts: new Attempts(clock), secrets: auth.issuerSecrets },
    ...{ sealing: SealingKey.of(key), providers: new Providers(clock, fetched), failed: () => undefined },
  });
}

async function begin() {
  const { auth, organization } = directory;
  const about = { redirectUri: REDIRECT, returnTo: '/console/default' };
  const { url, sealed } = await auth.browserSignIns.begin(organization, 'work', about);
  const { searchParams } = new URL(url);
  const nonce = searchParams.get('nonce');
  redeem = async () => {
    const now = directory.clock.now();
    const claims = { iss: PROVIDER, aud: 'muster', sub: 'jdoe', iat: Math.floor(now / 1000), nonce, jti: nonce };
    return { id_token: await issue(provider, now, claims, { kid: 'k1' }) };
  };
  return { state: searchParams.get('state') ?? '', sealed };
}

/** Of the issuer. */
async function change(asked: Partial<AskedIssuer>) {
  const { auth, organization } = directory;
  const [present] = await auth.issuers.list(organization);
  if (present === undefined) throw new Error('there is no issuer');
  return auth.issuers.change(organization, present, { ...present, ...asked }, ME);
}

type Begun = Awaited<ReturnType<typeof begin>>;
const finish = ({ state, sealed }: Begun, at = directory.auth.browserSignIns) =>
  at.finish(directory.organization, 'work', { state, code: 'C' }, sealed, ADDRESS);
const code = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof MusterError ? error.code : Promise.reject(error)),
  );
const KEY = new Uint8Array(32);

describe('what a browser takes along', () => {
  test('is read by every server with the same key, and by no other', async () => {
    const begun = await begin();
    expect(await code(finish(begun, elsewhere(KEY.map(() => 1))))).toBe('sign_in_expired');
    expect(await finish(begun, elsewhere(KEY))).toMatchObject({ user: 'jdoe', returnTo: '/console/default' });
  });

  test('is used up wherever it was used', async () => {
    const begun = await begin();
    const work = [finish(begun), finish(begun, elsewhere(KEY))];
    expect((await Promise.all(work.map(code))).sort()).toEqual(['done', 'sign_in_expired']);
  });

  test.each([
    ['another client', { ...SIGN_IN, clientId: 'other' }, 'sign_in_expired'],
    ['nobody who signs in', null, 'sign_in_not_offered'],
  ])('is of no use when the issuer has %s meanwhile', async (_, signIn, refusal) => {
    const begun = await begin();
    await change({ signIn });
    expect(await code(finish(begun))).toBe(refusal);
  });
});

describe('a client with a secret', () => {
  const SECRET = 'p%w:d é';
  const CONFIDENTIAL = { ...SIGN_IN, confidential: true };

  async function redeemed(): Promise<Sent | null> {
    let heard: Sent | null = null;
    const begun = await begin();
    const answer = redeem;
    redeem = (sent) => {
      heard = sent;
      return answer(sent);
    };
    expect(await code(finish(begun))).toBe('done');
    return heard;
  }

  test.each([
    ['where nothing is said', undefined, [null, null, ['muster', SECRET]]],
    ['in a header', ['client_secret_post', 'client_secret_basic'], [null, null, ['muster', SECRET]]],
    ['in the form', ['private_key_jwt', 'client_secret_post'], ['muster', SECRET, null]],
  ])('proves itself by it as the provider wants: %s', async (_, methods, expected) => {
    said = { ...SAID, token_endpoint_auth_methods_supported: methods };
    await change({ signIn: CONFIDENTIAL, secret: SECRET });
    const sent = await redeemed();
    expect([sent?.form.get('client_id'), sent?.form.get('client_secret'), sent?.basic]).toEqual(expected);
    expect(sent?.form.get('code_verifier')).toMatch(/^verifier_[\w-]{43}$/);
  });

  test('is told where the provider takes none', async () => {
    said = { ...SAID, token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'] };
    await change({ signIn: CONFIDENTIAL, secret: SECRET });
    expect(await code(finish(await begin()))).toBe('provider_unavailable');
    expect(failures.join()).toContain('it takes no client secret');
  });

  test('keeps it sealed, and tells it nobody but whom it was given for', async () => {
    const stored = async () => (await directory.store.read.selectFrom('issuers').select('sealed').execute())[0]?.sealed;
    const refused = { code: 'invalid_field', details: { field: 'sign_in.client_secret' } };
    await expect(change({ signIn: CONFIDENTIAL })).rejects.toMatchObject(refused);
    await change({ signIn: CONFIDENTIAL, secret: SECRET });
    expect(Buffer.from((await stored()) ?? []).includes(SECRET)).toBe(false);
    await change({ signIn: { ...CONFIDENTIAL, scope: 'openid email' } });
    expect((await redeemed())?.basic).toEqual(['muster', SECRET]);
    await expect(change({ signIn: { ...CONFIDENTIAL, clientId: 'other' } })).rejects.toMatchObject(refused);
    await change({ signIn: SIGN_IN });
    expect([await stored(), (await redeemed())?.basic]).toEqual([null, null]);
  });
});

describe('a provider', () => {
  test('is asked once in ten minutes what it says of itself, and after a failure once in half a minute', async () => {
    for (let times = 0; times < 3; times++) await begin();
    expect(asked).toEqual(['/.well-known/openid-configuration']);
    directory.clock.advance(ISSUER_LIMITS.keysMs);
    said = new Error('it answers with status 500');
    for (let times = 0; times < 3; times++) expect(await code(begin())).toBe('provider_unavailable');
    expect(asked).toHaveLength(2);
    expect(failures).toContain('Error: it answers with status 500');
    directory.clock.advance(ISSUER_LIMITS.refetchMs);
    said = SAID;
    expect(await code(begin())).toBe('done');
  });

  test.each([
    ['no page to sign in', { authorization_endpoint: undefined }, 'authorization_endpoint'],
    ['none that is a URL', { authorization_endpoint: 'here' }, 'authorization_endpoint'],
    ['one that is a program', { authorization_endpoint: 'javascript:alert(1)' }, 'TLS'],
    ['one without TLS', { authorization_endpoint: 'http://login.example.org/' }, 'TLS'],
    ['no place to redeem codes', { token_endpoint: undefined }, 'token_endpoint'],
    ['one without TLS', { token_endpoint: 'http://login.example.org/' }, 'TLS'],
  ])('that has %s is told to the owner of the server alone', async (_, wrong, reason) => {
    said = { ...SAID, ...wrong };
    const refused = await begin().catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: 'provider_unavailable',
      message: "nobody can be signed in at issuer 'work' now",
    });
    expect(failures.join()).toContain(reason);
  });

  test('that gives no ID token signs nobody in', async () => {
    const begun = await begin();
    redeem = async () => ({ access_token: 'A' });
    expect(await code(finish(begun))).toBe('provider_unavailable');
    expect(failures.join()).toContain('openid');
  });

  test('that does not answer is waited for by so many at once, and holds up none after them', async () => {
    const begun = await begin();
    const answered: ((error: Error) => void)[] = [];
    redeem = () => new Promise((_, failed) => answered.push(failed));
    const waiting = Array.from({ length: ISSUER_LIMITS.awayAtOnce }, () => code(finish(begun)));
    await expect.poll(() => answered.length).toBe(ISSUER_LIMITS.awayAtOnce);
    expect(await code(finish(begun))).toBe('too_busy');
    for (const failed of answered) failed(new Error('timeout'));
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['provider_unavailable']));
    const again = await begin();
    expect(await code(finish(again))).toBe('done');
  });
});
