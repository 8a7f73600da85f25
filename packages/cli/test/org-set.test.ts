import { afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

const SETTINGS = '/organizations/staging/pushy/settings';
const ANSWER = { quorum: null, max_nodes: null, max_running: null, max_starts: null };

let server: ApiServer | undefined;
afterEach(() => server?.close());

test.each([
  [['--quorum', '80%'], { quorum: '80%' }],
  [['--quorum', 'all'], { quorum: null }],
  [
    ['--max-nodes', '50', '--max-running', 'all', '--max-starts', '3'],
    { max_nodes: 50, max_running: null, max_starts: 3 },
  ],
])('org set %j sends what is given, and nothing of the rest', async (flags, body) => {
  server = await apiServer({
    [`PUT ${SETTINGS}`]: json(ANSWER),
    'POST /access_tokens': json({
      id: '1',
      token: 'T',
      user: 'u',
      expires_at: '2026-01-01T00:00:00Z',
      created_by: 'u',
    }),
  });
  const here = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['org', 'set', 'staging', ...flags], here), here.err()).toBe(0);
  expect(JSON.parse(server.received.at(-1)?.body ?? '')).toEqual(body);
});

test.each(['0%', '0', '101%', 'most'])('a quorum of %j says what it may be', async (quorum) => {
  const here = testWorld({ env: { MUSTER_URL: 'http://127.0.0.1:1', MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['org', 'set', 'staging', '--quorum', quorum], here)).toBe(2);
  expect(here.err()).toContain('--quorum takes a percentage above 0% (80%), or all for all nodes');
});

test('org show tells the settings', async () => {
  server = await apiServer({ [`GET ${SETTINGS}`]: json({ ...ANSWER, quorum: '80%' }) });
  const here = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['org', 'show', 'staging'], here), here.err()).toBe(0);
  expect(here.out()).toMatch(/Quorum of push jobs +80%/);
});

test('a limit that is none says what it may be', async () => {
  const here = testWorld({ env: { MUSTER_URL: 'http://127.0.0.1:1', MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['org', 'set', 'staging', '--max-nodes', 'none'], here)).toBe(2);
  expect(here.err()).toContain('--max-nodes takes a whole number from 1 on, or all');
});
