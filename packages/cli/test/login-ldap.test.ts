import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { done, sharedKey } from '../../platform/test/support/personas.js';
import { GROUPS, PEOPLE, passwordOf, type Slapd, startSlapd } from '../../platform/test/support/slapd.js';
import { Browser } from '../../server/test/support/browser.js';
import { startTestServer, type TestServer } from '../../server/test/support/test-server.js';
import { run } from '../src/run.js';
import { type TestWorld, testWorld } from './support/world.js';

/** People sign in at a real OpenLDAP: by the command line, and by a browser. */

const ISSUERS = '/organizations/default/issuers';
let slapd: Slapd;
let server: TestServer;
let home: string;

beforeAll(async () => {
  slapd = await startSlapd({ alice: ['ops', 'staff'], bob: ['staff'], mallory: ['staff'] });
  server = await startTestServer({ flags: { 'outbound-private-targets': 'true' } });
  const { publicKey } = sharedKey();
  for (const name of ['alice', 'bob'])
    done(await server.api.post('/users', { name, public_key: publicKey, organization: 'default' }));
});
afterAll(async () => {
  await server.stop();
  await slapd.remove();
});
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'muster-ldap-'));
  writeFileSync(join(home, 'bind.pw'), `${slapd.bindPassword}\n`);
  writeFileSync(join(home, 'ca.pem'), slapd.ca);
});
afterEach(async () => {
  rmSync(home, { recursive: true });
  for (const { name } of (await server.api.get(ISSUERS)).body as { name: string }[])
    done(await server.api.call('DELETE', `${ISSUERS}/${name}`));
});

const CREATE = () => [
  ...['issuer', 'create', 'staff', '--ldap', slapd.url, '--ldap-ca', 'ca.pem', '--bind-dn', slapd.bindDn],
  ...['--bind-password-file', 'bind.pw', '--user-base', PEOPLE, '--group-base', GROUPS],
  ...['--map-group', `cn=ops,${GROUPS}=push_job_writers`, '--login-ttl', '1h'],
];

/** As the first admin. */
async function admin(...words: string[]) {
  const env = { MUSTER_CONFIG: server.running.cliConfigPath, HOME: home, NO_COLOR: '1' };
  const world = testWorld({ cwd: home, env });
  const code = await run(words, world);
  return { code, out: world.out(), err: world.err() };
}

const person = (options: { readonly terminal?: boolean; readonly url?: string } = {}): TestWorld => {
  const { url = server.url, terminal = false } = options;
  return testWorld({ cwd: home, terminal, env: { HOME: home, MUSTER_URL: url, NO_COLOR: '1', USER: 'alice' } });
};

async function login(password: string, ...words: string[]) {
  const world = person();
  world.pipe(`${password}\nnothing that counts\n`);
  const code = await run(['login', ...words], world);
  return { code, out: world.out(), err: world.err() };
}

describe('muster login at a directory', () => {
  test('takes the password from stdin, and what follows is done with the token', async () => {
    expect(await admin(...CREATE())).toMatchObject({
      code: 0,
      out: expect.stringContaining('muster login --issuer staff'),
    });
    const signedIn = await login(passwordOf('alice'), '--json');
    expect(signedIn).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(signedIn.out)).toMatchObject({ user: 'alice', groups: ['push_job_writers'] });
    const world = person();
    expect(await run(['whoami', '--json'], world)).toBe(0);
    expect(JSON.parse(world.out())).toMatchObject({ name: 'alice', by: 'login', issuer: 'staff' });
    expect(readdirSync(join(home, '.muster/logins'))).toHaveLength(1);
  });

  test('asks for it at a terminal, and shows nothing of what is typed', async () => {
    expect((await admin(...CREATE())).code).toBe(0);
    const world = person({ terminal: true });
    const working = run(['login', '--issuer', 'staff', '--username', 'bob'], world);
    await expect.poll(() => world.err()).toContain('Password of bob at staff: ');
    world.type(`${passwordOf('bob')}\r`);
    expect(await working).toBe(0);
    expect(world.out()).toContain('signed in to default as bob');
    expect(world.out() + world.err()).not.toContain(passwordOf('bob'));
  });

  test('is refused in the same words for a wrong password and a wrong name, which only the audit tells apart', async () => {
    await admin(...CREATE());
    const wrong = await login('wrong');
    const nobody = await login('wrong', '--username', 'nobody');
    expect(wrong).toMatchObject({ code: 3, err: expect.stringContaining('the name or the password is wrong') });
    expect(nobody).toEqual(wrong);
    const entries = (await server.api.get('/organizations/default/audit?limit=2&action=login.refuse')).body;
    expect(entries).toMatchObject([
      { actor: 'nobody', actor_kind: 'claimed', detail: { code: 'sign_in_refused', reason: 'there is no such user' } },
      { actor: 'alice', detail: { reason: expect.stringContaining('the directory says no') } },
    ]);
    expect(JSON.stringify(entries)).not.toContain('wrong"');
    expect((await login('', '--username', 'alice')).code).toBe(2);
  });

  test('says who may not come in, and when to try again', async () => {
    await admin(...CREATE());
    expect(await login(passwordOf('mallory'), '--username', 'mallory')).toMatchObject({ code: 3 });
    const url = `${server.url}/organizations/default/login`;
    const ask = (password: string) =>
      fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ issuer: 'staff', user: 'carol', password }),
      });
    const answers = await Promise.all(Array.from({ length: 6 }, () => ask('wrong')));
    const throttled = answers.filter(({ status }) => status === 429);
    expect(answers.map(({ status }) => status).sort()).toEqual([401, 401, 401, 401, 401, 429]);
    expect(Number(throttled[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await throttled[0]?.json()).toMatchObject({ error: expect.stringContaining('too often') });
  });

  test('sends a password to no server without TLS but one of this machine', async () => {
    await admin(...CREATE());
    const world = person({ url: server.url.replace('127.0.0.1', '0.0.0.0') });
    world.pipe(`${passwordOf('alice')}\n`);
    expect(await run(['login'], world)).toBe(2);
    expect(world.err()).toContain('a password goes to no server without TLS');
  });

  test('wants either an ID token, or name and password', async () => {
    await admin(...CREATE());
    const ask = async (body: object) => server.api.as(null).post('/organizations/default/login', body);
    expect((await ask({ issuer: 'staff', user: 'alice' })).status).toBe(400);
    expect((await ask({ issuer: 'staff', id_token: 'x', user: 'alice', password: 'x' })).status).toBe(400);
    expect((await ask({ issuer: 'staff', id_token: 'x' })).status).toBe(404);
    expect((await server.api.as(null).get('/organizations/default/login')).body).toEqual([
      { name: 'staff', kind: 'ldap' },
    ]);
  });
});

describe('muster issuer', () => {
  test('test says how somebody is found, and whom a directory does not know', async () => {
    await admin(...CREATE());
    expect(await admin('issuer', 'test', 'staff')).toMatchObject({ code: 0, out: expect.stringContaining('answers') });
    const found = await admin('issuer', 'test', 'staff', '--user', 'ALICE', '--json');
    expect(JSON.parse(found.out)).toMatchObject({
      person: { dn: `uid=alice,${PEOPLE}`, name: 'alice', groups: ['push_job_writers'] },
    });
    expect((await admin('issuer', 'test', 'staff', '--user', 'alice')).out).toContain('push_job_writers');
    const stranger = await admin('issuer', 'test', 'staff', '--user', 'mallory');
    expect(stranger).toMatchObject({
      code: 1,
      out: expect.stringContaining("no user 'mallory' belongs to organization"),
    });
    expect(stranger.out).toContain(`uid=mallory,${PEOPLE}`);
    const nobody = await admin('issuer', 'test', 'staff', '--user', 'nobody');
    expect(nobody).toMatchObject({ code: 1, out: expect.stringContaining('there is no such user') });
  });

  test('set changes a directory in place, and create tells what is missing', async () => {
    await admin(...CREATE());
    const set = async (...words: string[]) =>
      JSON.parse((await admin('issuer', 'set', 'staff', ...words, '--json')).out);
    expect(await set('--login-ttl', '2h', '--create-users')).toMatchObject({
      directory: { ttl: 7200, create_users: true },
    });
    expect(await set('--user-claim', 'cn')).toMatchObject({ directory: { user_filter: '(cn={user})' } });
    expect(await set('--unset', 'group-base')).toMatchObject({ user_claim: 'cn', directory: { group_base: null } });
    const elsewhere = await admin('issuer', 'set', 'staff', '--ldap', slapd.plainUrl);
    expect(elsewhere).toMatchObject({ code: 2, err: expect.stringContaining('bind_password') });
    expect(await set('--ldap', slapd.plainUrl, '--bind-password-file', 'bind.pw')).toMatchObject({
      source: slapd.plainUrl,
    });
    expect((await admin('issuer', 'list')).out).toContain(slapd.plainUrl);
    for (const words of [
      ['--ldap', slapd.url],
      ['--ldap', slapd.url, '--oidc', 'https://b'],
      ['--oidc', 'https://b', '--user-base', PEOPLE],
      [...CREATE().slice(3), '--client-id', 'x'],
    ])
      expect(await admin('issuer', 'create', 'other', ...words)).toMatchObject({ code: 2 });
  });
});

describe('a browser', () => {
  const body = (more: object = {}) => ({
    organization: 'default',
    user: 'alice',
    password: passwordOf('alice'),
    ...more,
  });
  let browser: Browser;
  beforeEach(() => {
    browser = new Browser(server.url);
  });

  test('is signed in by name and password, and out when the directory is not trusted any more', async () => {
    await admin(...CREATE());
    const began = await browser.call('POST', '/session', body());
    expect([began.status, began.body]).toMatchObject([201, { user: 'alice', organization: 'default' }]);
    expect(began.text).not.toContain('access_');
    const sessions = (await server.api.get('/organizations/default/sessions')).body;
    expect(sessions).toMatchObject([{ user: 'alice', by: 'password' }]);
    done(await server.api.call('DELETE', `${ISSUERS}/staff`));
    expect((await browser.call('GET', '/session')).status).toBe(401);
  });

  test('is not by a page of somebody else, nor by a wrong password, which is in the audit of the organization', async () => {
    await admin(...CREATE());
    expect((await browser.call('POST', '/session', body(), { site: 'cross-site' })).status).toBe(403);
    const wrong = await browser.call('POST', '/session', body({ password: 'wrong' }));
    expect([wrong.status, wrong.headers.get('x-muster-error')]).toEqual([401, 'sign_in_refused']);
    const entries = (await server.api.get('/organizations/default/audit?limit=1&action=login.refuse')).body;
    expect(entries).toMatchObject([{ actor: 'alice', target: '/session' }]);
    expect((await browser.call('POST', '/session', body({ organization: 'nowhere' }))).status).toBe(404);
    expect((await browser.call('POST', '/session', body({ token: 'x' }))).status).toBe(400);
    expect((await browser.call('POST', '/session', { password: 'x' })).status).toBe(400);
  });

  test('has to say at which directory, where there are several', async () => {
    await admin(...CREATE());
    await admin(...CREATE().map((word) => (word === 'staff' ? 'other' : word)));
    const unclear = await browser.call('POST', '/session', body());
    expect([unclear.status, unclear.text]).toEqual([400, expect.stringContaining('other, staff')]);
    expect((await browser.call('POST', '/session', body({ issuer: 'other' }))).status).toBe(201);
  });
});
