import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

const ISSUERS = '/organizations/o/issuers';
const ANSWER = {
  ...{
    name: 'gateway',
    kind: 'public_key',
    source: 'PEM',
    issuer: null,
    audience: null,
    user_claim: null,
    tenant: null,
    sign_in: null,
    directory: null,
  },
  created_at: '2026-01-01T00:00:00Z',
};

let server: ApiServer | undefined;
let cwd = '';
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'muster-issuer-'));
});
afterEach(async () => {
  await server?.close();
  rmSync(cwd, { recursive: true });
});

async function world(answer: object = ANSWER) {
  server = await apiServer({
    [`POST ${ISSUERS}`]: json(answer),
    [`GET ${ISSUERS}`]: json([answer]),
    'GET /organizations/o/groups': json([{ name: 'deployers' }, { name: 'push_job_writers' }]),
    [`PATCH ${ISSUERS}/work`]: json({ ...ANSWER, name: 'work' }),
    [`DELETE ${ISSUERS}/gateway`]: (_, response) => response.writeHead(204).end(),
    'POST /access_tokens': json({ id: '1', token: 'T', user: 'u', expires_at: ANSWER.created_at, created_by: 'u' }),
  });
  return testWorld({ cwd, env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
}
const sent = () => JSON.parse(server?.received.at(-1)?.body ?? 'null');

test('issuer create sends the key of a file, issuer list and rm show and delete it', async () => {
  const here = await world();
  writeFileSync(join(cwd, 'gateway.pem'), 'PEM');
  expect(await run(['issuer', 'create', 'gateway', '--public-key', 'gateway.pem', '--tenant', 't'], here)).toBe(0);
  expect(sent()).toEqual({ name: 'gateway', public_key: 'PEM', tenant: 't' });
  expect(await run(['issuer', 'list'], here)).toBe(0);
  expect(await run(['issuer', 'rm', 'gateway', '--yes'], here)).toBe(0);
  expect(here.out()).toContain('public key');
  expect(here.out()).toContain('tokens of gateway are no longer taken');
});

test('issuer show tells where the provider is to send browsers back to', async () => {
  const redirect_uri = 'https://muster.example.com/organizations/o/login/gateway/callback';
  const groups = { ops: 'deployers' };
  const signIn = { client_id: 'muster', redirect_uri, scope: 'openid', groups_claim: 'groups', groups };
  const here = await world({ ...ANSWER, sign_in: { ...signIn, create_users: false, ttl: 28_800 } });
  expect(await run(['issuer', 'show', 'gateway'], here)).toBe(0);
  expect(here.out()).toContain(`Redirect URI  ${redirect_uri}`);
  expect(here.out()).toContain('ops=deployers');
  expect(await run(['issuer', 'show', 'nobody'], here)).toBe(4);
});

test('issuer create says so, too', async () => {
  const signIn = { client_id: 'muster', redirect_uri: 'https://a/callback', groups: {}, create_users: false, ttl: 60 };
  const here = await world({ ...ANSWER, kind: 'oidc', sign_in: signIn });
  expect(await run(['issuer', 'create', 'gateway', '--oidc', 'https://b', '--client-id', 'muster'], here)).toBe(0);
  expect(here.out()).toContain('https://a/callback');
});

test.each([
  [['--audience', 'a', '--user-claim', 'email'], { audience: 'a', user_claim: 'email' }],
  [['--map-group', 'ops=deployers', '--login-ttl', '4h'], { sign_in: { groups: { ops: 'deployers' }, ttl: 14_400 } }],
  [['--no-create-users'], { sign_in: { create_users: false } }],
  [['--create-users', '--unset', 'groups'], { sign_in: { create_users: true, groups: null } }],
  [
    ['--unset', 'user-claim', '--unset', 'login-ttl', '--unset', 'groups-claim'],
    { user_claim: null, sign_in: { ttl: null, groups_claim: null } },
  ],
  [['--unset', 'sign-in'], { sign_in: null }],
  [['--oidc', 'https://b'], { oidc: 'https://b' }],
])('issuer set %j sends what is changed, and nothing else', async (flags, body) => {
  const here = await world();
  expect(await run(['issuer', 'set', 'work', ...flags], here)).toBe(0);
  expect(sent()).toEqual(body);
  expect(here.out()).toContain('changed issuer work');
});

test('issuer set says of groups that are not there that the first sign-in makes them', async () => {
  const here = await world();
  const groups = ['deployers', 'pushy_job_writers', 'nogroup'].flatMap((group) => ['--map-group', `a=${group}`]);
  expect(await run(['issuer', 'set', 'work', ...groups], here)).toBe(0);
  expect(here.err().match(/there is no group '\w+'/g)).toEqual(["there is no group 'nogroup'"]);
});

test('issuer show tells how a directory is asked', async () => {
  const rules = { groups: {}, create_users: false, ttl: 28_800 };
  const about = { bind_dn: 'cn=muster', ca: 'PEM', user_base: 'ou=people', user_filter: '(uid={user})' };
  const directory = { ...about, group_base: 'ou=groups', group_filter: '(member={dn})', ...rules };
  const here = await world({ ...ANSWER, kind: 'ldap', source: 'ldaps://d', directory });
  expect(await run(['issuer', 'show', 'gateway'], here)).toBe(0);
  for (const said of ['cn=muster', 'of its own', 'ou=people', '(uid={user})', 'ou=groups', '(member={dn})'])
    expect(here.out()).toContain(said);
});

test('issuer set wants something to change, and knows what can be unset', async () => {
  const here = await world();
  expect(await run(['issuer', 'set', 'work'], here)).toBe(2);
  expect(await run(['issuer', 'set', 'work', '--unset', 'name'], here)).toBe(2);
  expect(server?.received).toEqual([]);
});

test('issuer create takes one of its three sources', async () => {
  const here = await world();
  expect(await run(['issuer', 'create', 'x'], here)).toBe(2);
  expect(await run(['issuer', 'create', 'x', '--jwks', 'https://a', '--oidc', 'https://b'], here)).toBe(2);
  expect(await run(['issuer', 'create', 'x', '--oidc', 'https://b', '--user-claim', 'email'], here)).toBe(0);
  expect(sent()).toEqual({ name: 'x', oidc: 'https://b', user_claim: 'email' });
});

test('access-token create says for which organization', async () => {
  const here = await world();
  expect(await run(['access-token', 'create', '--organization', 'lab', '--ttl', '60'], here)).toBe(0);
  expect(sent()).toEqual({ ttl: 60, organization: 'lab' });
});

test('issuer create says how people sign in there, and which groups here that gives', async () => {
  const here = await world();
  const words = ['issuer', 'create', 'work', '--oidc', 'https://b'];
  const groups = ['--groups-claim', 'groups', '--map-group', 'cn=ops,dc=x=operators', '--map-group', 'sre=admins'];
  expect(await run([...words, '--client-id', 'cli', ...groups, '--create-users', '--login-ttl', '1h'], here)).toBe(0);
  expect(sent()).toEqual({
    name: 'work',
    oidc: 'https://b',
    sign_in: {
      ...{ client_id: 'cli', groups_claim: 'groups', groups: { 'cn=ops,dc=x': 'operators', sre: 'admins' } },
      ...{ create_users: true, ttl: 3600 },
    },
  });
  expect(await run([...words, '--create-users'], here)).toBe(2);
  expect(await run([...words, '--client-id', 'cli', '--map-group', 'ops'], here)).toBe(2);
});
