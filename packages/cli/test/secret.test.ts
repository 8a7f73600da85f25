import { afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

const SECRETS = '/organizations/o/secrets';
const SECRET = {
  ...{ name: 'db', owner: 'anna', holders: ['bob', 'group:dba'] },
  ...{ provider: null, reference: null },
  ...{ created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-02T00:00:00.000Z' },
};

let server: ApiServer | undefined;
afterEach(() => server?.close());

const told = (code: number, ...args: string[]) => toldOf('', code, ...args);

async function toldOf(stdin: string, code: number, ...args: string[]): Promise<string> {
  server = await apiServer({
    [`PUT ${SECRETS}/db`]: json(SECRET),
    [`PATCH ${SECRETS}/db`]: json({ ...SECRET, unknown: ['bbo', 'group:dab', 'client:ic'] }),
    [`GET ${SECRETS}`]: json([SECRET]),
    [`GET ${SECRETS}/db`]: json(SECRET),
    [`GET ${SECRETS}/kept`]: json({ ...SECRET, provider: 'vault', reference: 'apps/db#password' }),
    'GET /organizations/o/secret-providers': json([{ name: 'vault', type: 'vault' }]),
    [`DELETE ${SECRETS}/db`]: (_, response) => response.writeHead(204).end(),
  });
  const here = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  here.pipe(stdin);
  expect(await run(['secret', ...args], here), here.err()).toBe(code);
  return here.out() + here.err();
}
const sent = () => JSON.parse(server?.received.at(-1)?.body ?? 'null');

test('a value comes from a file or standard input, without the end of a single line, and is not shown', async () => {
  expect(await toldOf('hunter2-hunter2\n', 0, 'set', 'db', '--from', '-')).toBe('keeping secret db\n');
  expect(sent()).toEqual({ value: 'hunter2-hunter2' });
  await toldOf('BEGIN KEY\nabc\n', 0, 'set', 'db', '--from', '-');
  expect(sent()).toEqual({ value: 'BEGIN KEY\nabc\n' });
  expect(await told(2, 'set', 'db')).toContain('--from');
  expect(await told(2, 'set', 'db', 'hunter2-hunter2')).not.toContain('hunter2');
});

test('on a terminal a value is asked for, and not shown', async () => {
  const typed = async (text: string) => {
    server = await apiServer({ [`PUT ${SECRETS}/db`]: json(SECRET) });
    const here = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' }, terminal: true });
    const raw: (boolean | string)[] = [];
    Object.assign(here.stdin, { setRawMode: (on: boolean) => raw.push(on, here.err()) });
    here.type(text);
    const code = await run(['secret', 'set', 'db', '--from', '-'], here);
    // Before anybody is asked.
    expect(raw.slice(0, 3)).toEqual([true, '', false]);
    return { code, told: here.out() + here.err() };
  };
  const { code, told } = await typed('hunter2-hunter2\n');
  expect(code).toBe(0);
  expect(sent()).toEqual({ value: 'hunter2-hunter2' });
  expect(told).toBe('keeping secret db\nValue of secret db, which is not shown: \n');
  for (const [text, why] of [
    ['BEGIN KEY\nabc\nEND', '--from FILE'],
    ['\n', 'no value was given'],
    ['hunter2-\u0003', 'no value was given'],
  ] as const) {
    const refused = await typed(text);
    expect(refused.code).toBe(2);
    expect(refused.told).toContain(why);
    expect(server?.received).toEqual([]);
  }
});

test('what a provider has is named, and no value is read', async () => {
  const out = await told(0, 'set', 'db', '--provider', 'vault', '--reference', 'apps/db#password');
  expect(sent()).toEqual({ provider: 'vault', reference: 'apps/db#password' });
  expect(out).toContain('keeping secret db');
  expect(await told(2, 'set', 'db', '--provider', 'vault')).toContain('--reference');
  expect(await told(2, 'set', 'db', '--from', '-', '--provider', 'vault', '--reference', 'a')).toContain('--from');
});

test('who keeps it is shown, and who may', async () => {
  expect(await told(0, 'show', 'kept')).toContain('by vault: apps/db#password');
  expect(await told(0, 'providers')).toMatch(/vault\s+vault/);
});

test('who may use it is granted and revoked by kind', async () => {
  const out = await told(0, 'grant', 'db', '--user', 'bob', '--group', 'dba', '--client', 'ci');
  expect(sent()).toEqual({ grant: ['bob', 'group:dba', 'client:ci'] });
  expect(out).toContain('its owner, admins, bob, group:dba');
  expect(out).not.toContain('warning');
  await told(0, 'revoke', 'db', '--user', 'bob');
  expect(sent()).toEqual({ revoke: ['bob'] });
  expect(await told(2, 'grant', 'db')).toContain('say who');
});

test('whoever is misspelt in a grant is told of, by kind', async () => {
  const out = await told(0, 'grant', 'db', '--user', 'bob', '--user', 'bbo', '--group', 'dab', '--client', 'ic');
  expect(out.split('\n').filter((line) => line.startsWith('warning'))).toEqual([
    "warning: there is no user 'bbo' in this organization yet",
    "warning: there is no node or service 'ic' in this organization yet",
    "warning: there is no group 'dab' in this organization yet",
  ]);
});

test('list, show and rm', async () => {
  expect(await told(0, 'list')).toMatch(/db\s+anna/);
  expect(await told(0, 'show', 'db')).toContain('anna');
  expect(await told(0, 'rm', 'db', '--yes')).toBe('deleted secret db\n');
});
