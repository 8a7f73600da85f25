import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type OpenIdProvider, openIdProvider } from '../../platform/test/support/openid-provider.js';
import { done, sharedKey } from '../../platform/test/support/personas.js';
import { startTestServer, type TestServer } from '../../server/test/support/test-server.js';
import { deviceFlow } from '../src/device-flow.js';
import { run } from '../src/run.js';
import { testWorld } from './support/world.js';

/** `muster login`, with a server and an OpenID provider in this process. */

let server: TestServer;
let provider: OpenIdProvider;
let home: string;

beforeAll(async () => {
  provider = await openIdProvider();
  server = await startTestServer({ flags: { 'outbound-private-targets': 'true' } });
  const { publicKey } = sharedKey();
  done(await server.api.post('/users', { name: 'alice', public_key: publicKey, organization: 'default' }));
  done(
    await server.api.post('/organizations/default/issuers', {
      ...{ name: 'work', oidc: provider.url, user_claim: 'preferred_username' },
      sign_in: { client_id: 'muster-cli', groups_claim: 'groups', groups: { ops: 'push_job_writers' }, ttl: 600 },
    }),
  );
});
afterAll(async () => {
  await server.stop();
  await provider.close();
});
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'muster-login-'));
  Object.assign(provider, {
    turns: ['authorization_pending', 'signed in'],
    claims: { sub: '4711', preferred_username: 'alice', groups: ['ops', 'everybody'] },
    patience: 600,
  });
  provider.asked.length = 0;
});
afterEach(() => rmSync(home, { recursive: true }));

const muster = (...words: string[]) => musterIn({}, ...words);

async function musterIn(env: Readonly<Record<string, string>>, ...words: string[]) {
  const world = testWorld({ cwd: home, env: { HOME: home, MUSTER_URL: server.url, NO_COLOR: '1', ...env } });
  const code = await run(words, world);
  return { code, out: world.out(), err: world.err() };
}

/** Newest first. */
const audit = async () =>
  (await server.api.get('/organizations/default/audit?limit=5')).body as {
    readonly action: string;
    readonly detail: Readonly<Record<string, unknown>>;
  }[];

describe('muster login', () => {
  test('shows the code, waits, keeps a token for its owner only, and what follows is done with it', async () => {
    const login = await muster('login', '--json');
    expect(login).toMatchObject({ code: 0, err: expect.stringContaining(`Open    ${provider.url}/enter`) });
    expect(login.err).toContain('Enter   WDJB-MJHT');
    expect(JSON.parse(login.out)).toMatchObject({
      user: 'alice',
      organization: 'default',
      groups: ['push_job_writers'],
    });
    expect(login.out).not.toContain('access_');
    const [file = ''] = readdirSync(join(home, '.muster/logins'));
    expect(statSync(join(home, '.muster/logins', file)).mode & 0o777).toBe(0o600);
    const who = JSON.parse((await muster('whoami', '--json')).out);
    expect(who).toMatchObject({ name: 'alice', groups: ['push_job_writers'], by: 'login', issuer: 'work' });
    expect((await muster('push', 'list')).code).toBe(0);
    // Whoever finds the token makes nothing of it that stays.
    expect(await muster('access-token', 'create')).toMatchObject({ code: 3 });
    expect((await muster('group', 'list')).code).toBe(0);
  });

  test('asks the provider as a public client, and hands the server the ID token alone', async () => {
    expect((await muster('login')).out).toContain('signed in to default as alice, in push_job_writers, until ');
    const [begun] = provider.asked.filter(({ path }) => path === '/device');
    expect(Object.fromEntries(begun?.form ?? [])).toEqual({ client_id: 'muster-cli', scope: 'openid profile email' });
    expect((await audit())[0]).toMatchObject({ action: 'login.begin', detail: { issuer: 'work' } });
  });

  test.each([
    ['access_denied', 'it was refused in the browser'],
    ['expired_token', 'nobody entered the code in time'],
  ] as const)('is not signed in when the provider says %s', async (turn, reason) => {
    provider.turns = ['authorization_pending', turn];
    const { code, err } = await muster('login');
    expect([code, err]).toEqual([3, expect.stringContaining(`you are not signed in: ${reason}`)]);
    expect((await muster('whoami')).code).toBe(2);
  });

  test('waits no longer than the code is good', async () => {
    provider.turns = ['authorization_pending'];
    provider.patience = 0.05;
    expect((await muster('login')).err).toContain('you are not signed in: nobody entered the code in time');
  });

  test('whom the server does not know is told so, and that is audited', async () => {
    provider.claims = { sub: '4712', preferred_username: 'mallory' };
    const { code, err } = await muster('login');
    expect([code, err]).toEqual([3, expect.stringContaining("'mallory' cannot sign in to organization 'default'")]);
    await expect
      .poll(async () => (await audit())[0])
      .toMatchObject({
        action: 'login.refuse',
        detail: { code: 'sign_in_unknown_user', reason: expect.stringContaining('mallory') },
      });
  });

  test.each([
    [{ aud: 'other' }, 'jwt_for_other', 'its audience (aud) is "other", and not \'muster-cli\''],
    [{ iss: 'https://other' }, 'invalid_jwt', "it is not of issuer 'work'"],
    [{ exp: 1 }, 'invalid_jwt', 'it has expired'],
  ])('by an ID token with %j is refused by the server, and that is audited', async (claims, refusal, reason) => {
    provider.claims = { sub: '4711', preferred_username: 'alice', ...claims };
    const { code, err } = await muster('login');
    expect([code, err]).toEqual([3, expect.stringContaining(`the token is not accepted: ${reason}`)]);
    await expect
      .poll(async () => (await audit())[0])
      .toMatchObject({ action: 'login.refuse', detail: { code: refusal } });
  });

  test('says where one can sign in, and where one cannot', async () => {
    const wrong = await muster('login', '--issuer', 'play');
    expect([wrong.code, wrong.err]).toEqual([4, expect.stringContaining("nobody signs in to organization 'default'")]);
    expect(wrong.err).toContain('See where one can, --issuer NAME: work. Administrators: `muster issuer create');
    const none = await musterIn({ MUSTER_ORG: 'nowhere' }, 'login');
    expect([none.code, none.err]).toEqual([
      4,
      expect.stringContaining('fix: It has no issuer for that. Administrators'),
    ]);
    expect(none.err).not.toContain('without --issuer');
    const nowhere = await server.api.as(null).get('/organizations/nowhere/login');
    expect([nowhere.status, nowhere.body]).toEqual([200, []]);
    const offered = (await server.api.as(null).get('/organizations/default/login')).body;
    expect(offered).toEqual([
      { name: 'work', kind: 'oidc', issuer: provider.url, client_id: 'muster-cli', scope: 'openid profile email' },
    ]);
  });

  test('is refused where the settings sign with a key', async () => {
    const env = { HOME: home, MUSTER_URL: server.url, MUSTER_USER: 'alice', MUSTER_KEY: 'alice.pem' };
    const world = testWorld({ cwd: home, env });
    expect(await run(['login'], world)).toBe(2);
    expect(world.err()).toContain('have a key, which counts more than a sign-in');
  });
});

test('muster logout ends it here and on the server, also when it has ended already', async () => {
  expect((await muster('login')).code).toBe(0);
  const [file = ''] = readdirSync(join(home, '.muster/logins'));
  const { token } = JSON.parse(readFileSync(join(home, '.muster/logins', file), 'utf8'));
  const out = await muster('logout');
  expect([out.code, out.out]).toEqual([0, 'signed out of default: alice\n']);
  expect(readdirSync(join(home, '.muster/logins'))).toEqual([]);
  expect((await audit())[0]).toMatchObject({ action: 'login.end' });
  expect((await server.api.as({ token }).get('/organizations/default/whoami')).status).toBe(401);
  expect((await muster('logout')).out).toContain('nobody is signed in to default');
  const whoami = await muster('whoami');
  expect([whoami.code, whoami.err]).toEqual([2, expect.stringContaining('`muster login`')]);
});

test('whoami tells of a key and of an access token, too', async () => {
  const path = '/organizations/default/whoami';
  expect((await server.api.get(path)).body).toMatchObject({ name: 'admin', groups: ['admins'], by: 'key' });
  const { token } = (await server.api.post('/access_tokens', {})).body as { token: string };
  const who = (await server.api.as({ token }).get(path)).body;
  expect(who).toMatchObject({ by: 'token', server_admin: true, issuer: null, expires_at: expect.any(String) });
});

test('an issuer that maps to a group which is nearly a role is refused', async () => {
  const sign_in = { client_id: 'c', groups_claim: 'groups', groups: { ops: 'push_job_writer' } };
  const body = { name: 'other', oidc: provider.url, audience: 'other', sign_in };
  const refused = await server.api.post('/organizations/default/issuers', body);
  expect([refused.status, refused.headers.get('x-muster-error')]).toEqual([400, 'group_name_unlikely']);
});

describe('the device flow', () => {
  const flow = () => deviceFlow({ issuer: provider.url, client_id: 'c', scope: 'openid' }, () => undefined);

  test('slows down when it is told to', async () => {
    const real = globalThis.setTimeout;
    const waits: number[] = [];
    const soon = vi.spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms: number, ...rest: []) => {
      // Others that wait here are not the device flow.
      if (ms !== 5000 || rest.length > 0) return real(work, ms, ...rest);
      waits.push(ms);
      return real(work, 0);
    }) as typeof setTimeout);
    provider.turns = ['slow_down', 'authorization_pending', 'signed in'];
    await flow();
    soon.mockRestore();
    expect(waits).toEqual([5000, 5000]);
  });

  test('says what the provider does, and which client it is', async () => {
    await expect(
      deviceFlow({ issuer: `${provider.url}/x`, client_id: 'c', scope: 'openid' }, () => undefined),
    ).rejects.toThrow(`cannot sign in at ${provider.url}/x: `);
  });

  test('speaks without TLS to nobody but this machine', async () => {
    const plain = { issuer: 'http://login.example.org', client_id: 'c', scope: 'openid' };
    await expect(deviceFlow(plain, () => undefined)).rejects.toThrow('only requests to HTTPS are allowed');
  });
});
