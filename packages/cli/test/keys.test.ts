import { afterEach, describe, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json, type Received } from './support/api-server.js';
import { testWorld } from './support/world.js';

/** Where a file is that can be sent in the place of a key. */
const HERE = import.meta.dirname;
const KEY = 'f1'.repeat(32);
let server: ApiServer | undefined;
afterEach(() => server?.close());

test.each([
  ['user', '/users/u'],
  ['node', '/organizations/o/nodes/u'],
  ['service', '/organizations/o/services/u'],
])('%s keys lists fingerprints, %s rm-key takes one away', async (kind, path) => {
  server = await apiServer({
    [`GET ${path}/keys`]: json([
      { fingerprint: KEY, created_at: '2026-01-01T00:00:00Z', expires_at: null, public_key: 'PEM' },
    ]),
    [`DELETE ${path}/keys/${KEY}`]: (_, response) => response.writeHead(204).end(),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run([kind, 'keys', 'u'], world)).toBe(0);
  expect(await run([kind, 'rm-key', 'u', KEY.slice(0, 8), '--yes'], world)).toBe(0);
  expect(world.out()).toContain(KEY);
  expect(world.out()).toContain(`removed key ${KEY} from u`);
  expect(await run([kind, 'rm-key', 'u', '0f0f0f0f', '--yes'], world)).toBe(2);
  expect(world.err()).toContain(`as \`muster ${kind} keys u\` shows it`);
});

test.each([
  ['user', '/users/u'],
  ['node', '/organizations/o/nodes/u'],
  ['service', '/organizations/o/services/u'],
])('%s add-key --expires says until when', async (kind, path) => {
  server = await apiServer({
    [`POST ${path}/keys`]: json({ fingerprint: 'f2', created_at: '2026-01-01', expires_at: '2026-04-01T00:00:00Z' }),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' }, cwd: HERE });
  expect(await run([kind, 'add-key', 'u', '--public-key', 'keys.test.ts', '--expires', '90d'], world)).toBe(0);
  expect(JSON.parse(server.received[0]?.body ?? '')).toMatchObject({ ttl: 90 * 86_400 });
  expect(world.out()).toMatch(/^added key f2 to u, until 2026-0[34]-/);
});

test('key list --all goes from page to page', async () => {
  const listed = (n: number) => ({
    type: 'node',
    name: `n${n}`,
    fingerprint: `f${n}`,
    created_at: '',
    expires_at: null,
  });
  server = await apiServer({
    'GET /organizations/o/keys': ({ query }, response) =>
      json({ total: 3, keys: query.get('offset') === '0' ? [listed(1), listed(2)] : [listed(3)] })(
        { query } as Received,
        response,
      ),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['key', 'list', '--all', '--expires-within', '30d'], world)).toBe(0);
  expect(server.received.map(({ query }) => [query.get('expires_within'), query.get('offset')])).toEqual([
    ['2592000', '0'],
    ['2592000', '2'],
  ]);
  expect(world.out()).toMatch(/node n1 .*\n.*node n2 .*\n.*node n3 .* never/);
});

test('key list does not guess whose keys a token means', async () => {
  server = await apiServer({});
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['key', 'list'], world)).toBe(2);
  expect(world.err()).toContain('muster user keys NAME');
});

describe('revoked keys', () => {
  const FIRST = 'a'.repeat(64);
  const SECOND = 'b'.repeat(64);
  const entry = (fingerprint: string, list = 'organization') => ({
    list,
    fingerprint,
    reason: 'laptop stolen',
    held_by: [{ type: 'node', name: 'web1' }],
    revoked_by: 'alice',
    revoked_at: '2026-01-01T00:00:00Z',
  });
  const worldOf = () => testWorld({ env: { MUSTER_URL: server?.url ?? '', MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });

  test.each([
    ['of an organization', '/organizations/o/revoked_keys', [], 'no node or service of the organization has it'],
    ['of the server', '/revoked_keys', ['--server'], 'nobody has it'],
  ])('%s are listed, revoked and taken off', async (_, path, flags, nobody) => {
    server = await apiServer({
      [`GET ${path}`]: json({ total: 1, keys: [entry(FIRST)] }),
      [`POST ${path}`]: json({
        keys: [
          { fingerprint: FIRST, held_by: [{ type: 'node', name: 'web1' }], already: false, listed: true, kept_by: [] },
          { fingerprint: SECOND, held_by: [], already: true, listed: true, kept_by: [] },
        ],
      }),
      [`DELETE ${path}/${FIRST}`]: (_request, response) => response.writeHead(204).end(),
    });
    const world = worldOf();
    expect(await run(['key', 'revoked', ...flags], world)).toBe(0);
    expect(world.out()).toMatch(new RegExp(`${FIRST} +node web1 +.* +alice +laptop stolen`));
    expect(await run(['key', 'revoke', FIRST, SECOND, '--reason', 'laptop stolen', '--yes', ...flags], world)).toBe(0);
    const sent = server.received.find(({ method }) => method === 'POST');
    expect(JSON.parse(sent?.body ?? '')).toEqual({
      keys: [FIRST, SECOND].map((fingerprint) => ({ fingerprint, reason: 'laptop stolen' })),
    });
    expect(world.out()).toContain(`revoked ${FIRST}: taken from node web1`);
    expect(world.out()).toContain(`already revoked ${SECOND}: ${nobody}`);
    expect(await run(['key', 'unrevoke', FIRST, ...flags], world)).toBe(0);
    expect(world.out()).toContain(`key ${FIRST} may be registered again`);
  });

  describe('of which only the beginning is given', () => {
    const ONE = `2986bb8e95${'0'.repeat(54)}`;
    const TWINS = ['1', '2'].map((end) => `abcdef0123${end.repeat(54)}`);
    const listed = [ONE, ...TWINS].map((fingerprint) => ({ type: 'node', name: 'web1', fingerprint }));
    const start = async () => {
      server = await apiServer({
        'GET /organizations/o/keys': json({ total: 3, keys: listed }),
        'GET /organizations/o/revoked_keys': json({ total: 1, keys: [entry(ONE)] }),
        'POST /organizations/o/revoked_keys': json({ keys: [] }),
        'POST /revoked_keys': json({ keys: [] }),
        [`DELETE /organizations/o/revoked_keys/${ONE}`]: (_request, response) => response.writeHead(204).end(),
      });
      return worldOf();
    };
    const revoked = () => JSON.parse(server?.received.at(-1)?.body ?? 'null') as unknown;

    test.each([
      ['2986bb8e95', []],
      ['2986bb8e', []],
      ['2986BB8E95', []],
      ['2986bb8e9500…', []],
      ['2986bb8e95', ['--server']],
    ])('%s %j is the one key that begins so', async (given, flags) => {
      const world = await start();
      expect(await run(['key', 'revoke', given, '--yes', ...flags], world), world.err()).toBe(0);
      expect(revoked()).toEqual({ keys: [{ fingerprint: ONE }] });
    });

    test('several are looked for at once, and one that is whole is taken as it is', async () => {
      const world = await start();
      expect(await run(['key', 'revoke', '2986bb8e95', 'abcdef01231', FIRST, '--yes'], world)).toBe(0);
      expect(revoked()).toEqual({ keys: [ONE, TWINS[0], FIRST].map((fingerprint) => ({ fingerprint })) });
      expect(server?.received.map(({ method }) => method)).toEqual(['GET', 'POST']);
    });

    test('one that was revoked before, and that nobody has, is told as such', async () => {
      const again = { fingerprint: FIRST, held_by: [], already: true, listed: true, kept_by: [] };
      server = await apiServer({
        'GET /organizations/o/keys': json({ total: 0, keys: [] }),
        'GET /organizations/o/revoked_keys': json({ total: 1, keys: [entry(FIRST)] }),
        'POST /organizations/o/revoked_keys': json({ keys: [again] }),
      });
      const world = worldOf();
      expect(await run(['key', 'revoke', FIRST.slice(0, 10), '--yes'], world), world.err()).toBe(0);
      expect(revoked()).toEqual({ keys: [{ fingerprint: FIRST }] });
      expect(world.out()).toContain(`already revoked ${FIRST}: `);
    });

    test('it may be registered again', async () => {
      const world = await start();
      expect(await run(['key', 'unrevoke', '2986bb8e95'], world)).toBe(0);
      expect(world.out()).toContain(`key ${ONE} may be registered again`);
    });

    test.each([
      ['2986bb8', "'2986bb8' is no fingerprint: give its 64 hex digits, or the first 8 or more"],
      ['SHA256:abc', "'SHA256:abc' is no fingerprint"],
      ['ffffffff', 'no key is known that begins with ffffffff: give all 64 digits'],
      ['abcdef0123', 'several keys begin with abcdef0123: give more of it'],
    ])('%s is refused, with where fingerprints are shown', async (given, why) => {
      const world = await start();
      expect(await run(['key', 'revoke', given, '--yes'], world)).toBe(2);
      expect(world.err()).toContain(why);
      expect(world.err()).toContain('`muster key list --all` shows');
      expect(server?.received.some(({ method }) => method === 'POST')).toBe(false);
    });
  });

  test('a list that was printed as JSON is taken back, in parts', async () => {
    const many = Array.from({ length: 501 }, (_, n) => entry(String(n).padStart(64, '0')));
    server = await apiServer({ 'POST /organizations/o/revoked_keys': json({ keys: [] }) });
    const world = worldOf();
    world.pipe(JSON.stringify(many));
    expect(await run(['key', 'revoke', '--from', '-', '--yes'], world)).toBe(0);
    const sent = server.received.map(({ body }) => (JSON.parse(body) as { keys: object[] }).keys);
    expect(sent.map((keys) => keys.length)).toEqual([500, 1]);
    expect(sent[0]?.[0]).toEqual({ fingerprint: many[0]?.fingerprint, reason: 'laptop stolen' });
  });

  test('of users are not said to be revoked by an organization', async () => {
    const THIRD = 'c'.repeat(64);
    const user = (name: string | null) => ({ type: 'user', name });
    server = await apiServer({
      'POST /organizations/o/revoked_keys': json({
        keys: [
          { fingerprint: FIRST, held_by: [], already: false, listed: false, kept_by: [user('ann'), user(null)] },
          { fingerprint: SECOND, held_by: [], already: false, listed: true, kept_by: [] },
          {
            fingerprint: THIRD,
            held_by: [{ type: 'node', name: 'n1' }],
            already: false,
            listed: true,
            kept_by: [user('bob')],
          },
        ],
      }),
    });
    const world = worldOf();
    expect(await run(['key', 'revoke', FIRST, SECOND, THIRD, '--yes'], world)).toBe(1);
    expect(world.out()).toBe(
      `not revoked ${FIRST}: kept by user ann, a user who is no member of this organization\n` +
        `revoked ${SECOND}: no node or service of the organization has it\n` +
        `revoked ${THIRD}: taken from node n1\n`,
    );
    expect(world.err()).toContain(`${THIRD} of user bob`);
    expect(world.err()).toContain(`muster key revoke ${FIRST} ${THIRD} --server`);
  });

  test('the list of the server is not taken for one of an organization', async () => {
    server = await apiServer({ 'POST /revoked_keys': json({ keys: [] }) });
    const [wrong, right] = [worldOf(), worldOf()];
    for (const world of [wrong, right]) world.pipe(JSON.stringify([entry(FIRST, 'server')]));
    const from = ['key', 'revoke', '--from', '-', '--yes'];
    expect(await run(from, wrong)).toBe(2);
    expect(wrong.err()).toContain('give --server');
    expect(server.received).toEqual([]);
    expect(await run([...from, '--server'], right), right.err()).toBe(0);
  });

  test('nothing is revoked that was not named, nor without being asked', async () => {
    server = await apiServer({});
    const world = worldOf();
    expect(await run(['key', 'revoke', '--yes'], world)).toBe(2);
    expect(await run(['key', 'revoke', FIRST], world)).toBe(2);
    expect(world.err()).toContain('--yes');
    expect(server.received).toEqual([]);
  });
});
