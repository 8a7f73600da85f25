import { ManualClock } from '@muster/base';
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { ISSUER_LIMITS } from '../../platform/src/auth/issuers/types.js';
import { createLogger } from '../../platform/src/upkeep/logging.js';
import { type OpenIdProvider, openIdProvider } from '../../platform/test/support/openid-provider.js';
import { done, sharedKey } from '../../platform/test/support/personas.js';
import type { Reply } from '../../platform/test/support/signed-client.js';
import { Browser } from './support/browser.js';
import { startTestServer, type TestServer } from './support/test-server.js';

/** People sign in to the console at an OpenID provider, by the authorization code flow with PKCE. */

const LOGIN = '/organizations/default/login';
const ISSUERS = '/organizations/default/issuers';
const clock = new ManualClock();
const lines: string[] = [];
let provider: OpenIdProvider;
let server: TestServer;
let browser: Browser;

beforeAll(async () => {
  provider = await openIdProvider();
  const logger = createLogger('trace', { write: (line) => void lines.push(line) });
  server = await startTestServer({ clock, logger, flags: { 'outbound-private-targets': 'true' } });
  const { publicKey: public_key } = sharedKey();
  done(await server.api.post('/users', { name: 'alice', public_key, organization: 'default' }));
  const sign_in = { client_id: 'muster', groups_claim: 'groups', groups: { ops: 'push_job_writers' } };
  for (const [name, audience] of [
    ['work', 'muster'],
    ['other', 'elsewhere'],
  ])
    done(
      await server.api.post(ISSUERS, {
        ...{ name, oidc: provider.url, user_claim: 'preferred_username', audience, sign_in },
      }),
    );
});
afterAll(async () => {
  await server.stop();
  await provider.close();
});
beforeEach(() => {
  Object.assign(provider, {
    ...{ redirectUris: null, person: 'agrees', saysIssuer: false, now: () => clock.now() },
    claims: { sub: '4711', preferred_username: 'alice', groups: ['ops'] },
  });
  provider.asked.length = 0;
  browser = new Browser(server.url);
});

const code = ({ status, headers }: Reply) => [status, headers.get('x-muster-error')];

/** Where the browser is sent to. */
async function begin(body: object = {}, name = 'work', by = browser): Promise<URL> {
  const begun = await by.call('POST', `${LOGIN}/${name}`, body);
  expect(begun.status, begun.text).toBe(201);
  return new URL((begun.body as { url: string }).url);
}

/** What the provider makes of it: the path to which the browser comes back. */
async function atProvider(url: URL): Promise<string> {
  const { status, headers } = await fetch(url, { redirect: 'manual' });
  expect(status).toBe(302);
  const back = new URL(headers.get('location') ?? '');
  expect(back.origin).toBe(server.url);
  return back.pathname + back.search;
}

/** As a browser does it that a page of the provider sends. */
const comeBack = (path: string, by = browser) =>
  by.call('GET', path, undefined, { site: 'cross-site', headers: { accept: 'text/html,*/*;q=0.8' } });

const led = ({ status, headers }: Reply) => [status, headers.get('location')];
const refusedAs = (error: string) => [303, `/console/default#sign-in-failed=${error}`];
const session = () => browser.call('GET', '/session');

interface Entry {
  readonly action: string;
  readonly actor: string;
  readonly detail: Readonly<Record<string, unknown>>;
}
/** Newest first. */
const audit = async () => (await server.api.get('/organizations/default/audit?limit=5')).body as readonly Entry[];

/** The last one; the audit is told of it when the answer is under way. */
const refusal = async () => (await audit()).find(({ action }) => action === 'login.refuse')?.detail;

describe('a browser that is sent to a provider', () => {
  it('goes where the provider says, with what binds the answer to it, and takes the rest along sealed', async () => {
    const url = await begin();
    const { state, nonce, code_challenge, ...asked } = Object.fromEntries(url.searchParams);
    expect([url.origin, url.pathname, asked]).toEqual([
      provider.url,
      '/authorize',
      {
        ...{ realm: 'staff', response_type: 'code', client_id: 'muster', scope: 'openid profile email' },
        ...{ redirect_uri: `${server.url}${LOGIN}/work/callback`, code_challenge_method: 'S256' },
      },
    ]);
    expect([state, nonce, code_challenge]).toEqual([
      expect.stringMatching(/^state_[\w-]{43}$/),
      expect.stringMatching(/^nonce_[\w-]{43}$/),
      expect.stringMatching(/^[\w-]{43}$/),
    ]);
    const cookie = browser.cookies.get('muster-sign-in') ?? '';
    expect(Buffer.from(cookie, 'base64url').includes(state ?? '')).toBe(false);
    const again = await begin();
    expect(again.searchParams.get('state')).not.toBe(state);
  });

  it('has that in a cookie that no script reads and only the way back is told', async () => {
    const begun = await browser.call('POST', `${LOGIN}/work`, {});
    const attributes = `Path=${LOGIN}/work/callback; HttpOnly; SameSite=Lax; Max-Age=600`;
    expect(begun.headers.get('set-cookie')).toMatch(new RegExp(`^muster-sign-in=[\\w-]+; ${attributes}$`));
  });

  it('has it in one of this host alone by TLS', async () => {
    const flags = { 'outbound-private-targets': 'true', 'http-trusted-proxies': '127.0.0.1' };
    const proxied = await startTestServer({ flags });
    try {
      const sign_in = { client_id: 'muster' };
      done(await proxied.api.post(ISSUERS, { name: 'work', oidc: provider.url, sign_in }));
      const secure = new Browser(proxied.url);
      const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'muster.example.org' };
      const begun = await secure.call('POST', `${LOGIN}/work`, {}, { headers });
      const attributes = 'Path=/; HttpOnly; SameSite=Lax; Max-Age=600; Secure';
      expect(begun.headers.get('set-cookie')).toMatch(new RegExp(`^__Host-muster-sign-in=[\\w-]+; ${attributes}$`));
      const { url } = begun.body as { url: string };
      expect(new URL(url).searchParams.get('redirect_uri')).toMatch(/^https:/);
    } finally {
      await proxied.stop();
    }
  });

  it('is one of a page of this server', async () => {
    const refused = await browser.call('POST', `${LOGIN}/work`, {}, { site: 'cross-site' });
    expect(code(refused)).toEqual([403, 'cross_site_request']);
  });

  test.each([
    ['an organization that there is not', '/organizations/nowhere/login/work'],
    ['an issuer that there is not', `${LOGIN}/nobody`],
  ])('hears the same of %s', async (_, path) => {
    expect(code(await browser.call('POST', path, {}))).toEqual([404, 'sign_in_not_offered']);
  });

  test.each([
    'https://evil.example/console/',
    '//evil.example/console/',
    '/\\evil.example/console/',
    '/console/../organizations/default/login',
    '/console/%2e%2e/docs',
    '/docs',
    'javascript:alert(1)',
    '',
  ])('does not go on to %j', async (return_to) => {
    const refused = await browser.call('POST', `${LOGIN}/work`, { return_to });
    expect([code(refused), refused.text]).toEqual([[400, 'invalid_field'], expect.stringContaining('return_to')]);
  });
});

describe('a browser that comes back', () => {
  it('is signed in as the claims say, with the groups of the provider, and goes on where it was', async () => {
    const path = await atProvider(await begin({ return_to: '/console/default/nodes?q=a b' }));
    const back = await comeBack(path);
    expect(led(back)).toEqual([303, '/console/default/nodes?q=a%20b']);
    expect(back.headers.get('cache-control')).toBe('no-store');
    expect(browser.cookies.get('muster-sign-in')).toBeUndefined();
    expect((await session()).body).toMatchObject({ organization: 'default', user: 'alice' });
    const { body } = await server.api.get('/organizations/default/groups/push_job_writers');
    expect(body).toMatchObject({ users: ['alice'] });
    const [began, login] = await audit();
    expect(began).toMatchObject({ action: 'session.begin', actor: 'alice', detail: { by: 'provider' } });
    expect(login).toMatchObject({ action: 'login.begin', detail: { issuer: 'work' } });
    const sessions = (await browser.call('GET', '/organizations/default/sessions')).body;
    expect(sessions).toMatchObject([{ user: 'alice', by: 'provider', current: true }]);
  });

  it('goes to the organization unless it said more', async () => {
    expect(led(await comeBack(await atProvider(await begin())))).toEqual([303, '/console/default']);
  });

  it('leaves with a session that ends with the issuer', async () => {
    await comeBack(await atProvider(await begin({}, 'other')));
    expect((await session()).status).toBe(200);
    done(await server.api.call('PATCH', `${ISSUERS}/other`, { body: { user_claim: 'sub' } }));
    expect(code(await session())).toEqual([401, 'session_ended']);
    done(await server.api.call('PATCH', `${ISSUERS}/other`, { body: { user_claim: 'preferred_username' } }));
  });

  it('is taken once', async () => {
    const path = await atProvider(await begin());
    const cookies = new Map(browser.cookies);
    await comeBack(path);
    expect(led(await comeBack(path))).toEqual(refusedAs('sign_in_expired'));
    // Who has copied the cookie, and has another code by the same state, comes too late.
    const state = new URL(path, server.url).searchParams.get('state') ?? '';
    const thief = new Browser(server.url);
    for (const [name, value] of cookies) thief.cookies.set(name, value);
    const [first] = provider.asked.filter(({ path: asked }) => asked === '/authorize');
    const again = await atProvider(new URL(`${provider.url}/authorize?${first?.form}`));
    expect(again).toContain(state);
    expect(led(await comeBack(again, thief))).toEqual(refusedAs('sign_in_expired'));
    expect(thief.cookies.get('muster')).toBeUndefined();
  });

  it('is the one that has left', async () => {
    const path = await atProvider(await begin());
    const victim = new Browser(server.url);
    expect(led(await comeBack(path, victim))).toEqual(refusedAs('sign_in_expired'));
    await begin({}, 'work', victim);
    expect(led(await comeBack(path, victim))).toEqual(refusedAs('sign_in_expired'));
    expect(victim.cookies.get('muster')).toBeUndefined();
    expect(provider.asked.map((one) => one.path)).not.toContain('/token');
  });

  it('comes back to the issuer to which it was sent', async () => {
    const path = await atProvider(await begin());
    const elsewhere = path.replace('/work/', '/other/');
    expect(led(await comeBack(elsewhere))).toEqual(refusedAs('sign_in_expired'));
    expect(provider.asked.map((one) => one.path)).not.toContain('/token');
  });

  it('comes back within ten minutes', async () => {
    const path = await atProvider(await begin());
    clock.advance(ISSUER_LIMITS.awayMs);
    expect(led(await comeBack(path))).toEqual(refusedAs('sign_in_expired'));
  });

  it('is told when the provider, or the person there, has refused', async () => {
    provider.person = 'refuses';
    expect(led(await comeBack(await atProvider(await begin())))).toEqual(refusedAs('sign_in_denied'));
    await expect
      .poll(refusal)
      .toMatchObject({ code: 'sign_in_denied', reason: expect.stringContaining('access_denied') });
  });

  test.each<[given: string, claims: object, reason: string, code?: string]>([
    ['for another sign-in', { nonce: 'nonce_of_another' }, 'nonce'],
    ['for none', { nonce: undefined }, 'nonce'],
    ['for another client', { aud: 'other' }, 'audience (aud) is "other"', 'jwt_for_other'],
    ['for several, and another of them', { aud: ['muster', 'other'], azp: 'other' }, 'another client'],
    ['by another issuer', { iss: 'https://elsewhere.example.org' }, 'issuer'],
    ['long ago', { iat: 1_000_000_000 }, 'minutes ago'],
    ['until yesterday', { exp: 1_000_000_000 }, 'expired'],
    ['for nobody', { preferred_username: undefined }, 'no user'],
  ])('gets nothing by an ID token that was given %s', async (_, claims, reason, code = 'invalid_jwt') => {
    provider.claims = { ...provider.claims, ...claims };
    const back = await comeBack(await atProvider(await begin()));
    expect(led(back)).toEqual(refusedAs(code));
    expect((await session()).status).toBe(401);
    await expect.poll(refusal).toMatchObject({ code, reason: expect.stringContaining(reason) });
  });

  it('gets nothing for somebody who is no member', async () => {
    provider.claims = { preferred_username: 'mallory' };
    expect(led(await comeBack(await atProvider(await begin())))).toEqual(refusedAs('sign_in_unknown_user'));
  });

  it('gets nothing with a code that is not of its sign-in', async () => {
    const path = await atProvider(await begin());
    const forged = path.replace(/code=[^&]+/, 'code=code-of-another');
    expect(led(await comeBack(forged))).toEqual(refusedAs('sign_in_expired'));
    // One that another browser has got is bound to the verifier of that one.
    const other = new Browser(server.url);
    const injected = new URL(await atProvider(await begin({}, 'work', other)), server.url).searchParams.get('code');
    const own = (await atProvider(await begin())).replace(/code=[^&]+/, `code=${injected}`);
    expect(led(await comeBack(own))).toEqual(refusedAs('sign_in_expired'));
  });

  it('gets nothing when the provider says to be another one', async () => {
    const path = `${await atProvider(await begin())}&iss=${encodeURIComponent('https://elsewhere.example.org')}`;
    expect(led(await comeBack(path))).toEqual(refusedAs('sign_in_denied'));
    provider.saysIssuer = true;
    expect(led(await comeBack(await atProvider(await begin())))).toEqual([303, '/console/default']);
  });

  it('brings nothing that is not bounded', async () => {
    const path = await atProvider(await begin());
    const long = `${path}&error=${'x'.repeat(ISSUER_LIMITS.brought + 1)}`;
    expect(led(await comeBack(long))).toEqual(refusedAs('invalid_field'));
    expect(led(await comeBack(`${path}&state=twice`))).toEqual(refusedAs('invalid_field'));
  });

  it('is led to the sign-in page of the console, whatever the path names', async () => {
    const nowhere = await comeBack('/organizations/..%2f..%2fevil/login/x%3b%20Domain=evil/callback?state=s');
    expect(led(nowhere)).toEqual([303, '/console/#sign-in-failed=sign_in_not_offered']);
    expect(nowhere.headers.get('set-cookie')).not.toContain('Domain=evil');
  });

  it('is let through seldom after so many that came to nothing from its address', async () => {
    const { burst } = ISSUER_LIMITS.attempts.address;
    clock.advance(burst * 2000);
    let last: unknown[] = [];
    for (let times = 0; times <= burst; times++) {
      const path = await atProvider(await begin());
      last = led(await comeBack(path.replace(/code=[^&]+/, 'code=guessed')));
    }
    expect(last).toEqual(refusedAs('sign_in_throttled'));
    clock.advance(2000);
    expect(led(await comeBack(await atProvider(await begin())))).toEqual([303, '/console/default']);
  });
});

describe('administrators', () => {
  it('are told where the provider is to send browsers back to', async () => {
    const { body } = await server.api.get(ISSUERS);
    const redirect_uri = `${server.url}${LOGIN}/work/callback`;
    expect(body).toContainEqual(
      expect.objectContaining({ name: 'work', sign_in: expect.objectContaining({ redirect_uri }) }),
    );
    provider.redirectUris = [redirect_uri];
    expect(led(await comeBack(await atProvider(await begin())))).toEqual([303, '/console/default']);
  });
});

it('logs nothing of codes, states and tokens', () => {
  expect(lines.join('\n')).toContain('a provider could not sign somebody in');
  expect(lines.join('\n')).toContain('it answers with status 400 (invalid_grant)');
  // That a code was used before is no fault of the server.
  expect(lines.filter((line) => line.includes('invalid_grant')).join('\n')).not.toContain('stack');
  expect(lines.join('\n')).not.toMatch(/code-\d|state_|nonce_|verifier_|eyJ/);
});
