import { afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

const NOTIFICATIONS = '/organizations/o/notifications';
const ON = "type = 'node.down'";
const ANSWER = {
  ...{
    name: 'ops',
    follows: 'events',
    on: ON,
    to: 'ops@example.org',
    only_logged: false,
    retries: 12,
    enabled: true,
    skipped: 3,
    trail: null,
  },
  owner: { name: 'anna', kind: 'user' },
  ...{ created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-02T00:00:00.000Z' },
};
const TRAIL = {
  ...{ arrived: 41, sealed: 45, attempts: 2, response_code: 503, detail: 'down' },
  ...{ last_sent: ANSWER.created_at, next_attempt: ANSWER.updated_at },
};
const SIEM = { ...ANSWER, name: 'siem', follows: 'audit', on: null, to: 'https://siem.example.org/', trail: TRAIL };
const DELIVERY = {
  ...{ id: 'd', event: 'node.down', url: ANSWER.to, outcome: 'given_up', attempts: 2, response_code: 500 },
  ...{ detail: 'no', created: ANSWER.created_at, last_sent: ANSWER.updated_at, next_attempt: null },
};

let server: ApiServer | undefined;
afterEach(() => server?.close());

async function world(onlyLogged = false) {
  server = await apiServer({
    [`POST ${NOTIFICATIONS}`]: (request, response) =>
      json({ ...ANSWER, only_logged: onlyLogged, enabled: JSON.parse(request.body).enabled ?? true })(
        request,
        response,
      ),
    [`GET ${NOTIFICATIONS}`]: json([ANSWER]),
    [`GET ${NOTIFICATIONS}/ops`]: json(ANSWER),
    [`GET ${NOTIFICATIONS}/siem`]: json(SIEM),
    [`PATCH ${NOTIFICATIONS}/siem`]: json(SIEM),
    [`PATCH ${NOTIFICATIONS}/ops`]: json({ ...ANSWER, only_logged: onlyLogged, enabled: false }),
    [`DELETE ${NOTIFICATIONS}/ops`]: (_, response) => response.writeHead(204).end(),
    [`GET ${NOTIFICATIONS}/ops/deliveries`]: json([DELIVERY]),
    [`GET ${NOTIFICATIONS}/quiet`]: json({ ...ANSWER, name: 'quiet' }),
    [`GET ${NOTIFICATIONS}/quiet/deliveries`]: json([]),
    [`GET ${NOTIFICATIONS}/siem/deliveries`]: json([]),
    [`POST ${NOTIFICATIONS}/ops/test`]: json({ id: 'ops.test-1', only_logged: onlyLogged }),
    'GET /organizations/o/webhook-secret': json({ secret: 'whsec_abc' }),
    'POST /access_tokens': json({ id: '1', token: 'T', user: 'u', expires_at: ANSWER.created_at, created_by: 'u' }),
  });
  return testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
}
const sent = () => JSON.parse(server?.received.at(-1)?.body ?? 'null');
const told = async (...args: string[]) => {
  const here = await world();
  expect(await run(['notification', ...args], here), here.err()).toBe(0);
  return here.out();
};

test('create says whom events are told from now on, and how to try it', async () => {
  const out = await told('create', 'ops', '--on', ON, '--to', 'ops@example.org', '--retries', '3');
  expect(sent()).toEqual({ name: 'ops', on: ON, to: 'ops@example.org', retries: 3 });
  expect(out).toContain('ops@example.org is told of events from now on; try it: muster notification test ops');
  expect(await told('create', 'ops', '--on', ON, '--to', 'ops@example.org', '--off')).toContain('ops is off');
  expect(sent()).toMatchObject({ enabled: false });
});

test('list, show and deliveries tell what there is', async () => {
  expect(await told('list')).toMatch(/ops +on +ops@example\.org +type = 'node\.down' +3/);
  const shown = await told('show', 'ops');
  expect(shown).toMatch(/Follows as +anna \(user\)/);
  expect(shown).toMatch(/Skipped +3 events/);
  expect(await told('deliveries', 'ops')).toMatch(/node\.down .* given up +2 +500 /);
  expect(await told('secret')).toBe('whsec_abc\n');
  expect(JSON.parse(await told('show', 'ops', '--json'))).toEqual(ANSWER);
});

test('create --audit brings the audit, and show tells how far it came', async () => {
  const out = await told('create', 'siem', '--audit', '--to', SIEM.to, '--after-seal', '40');
  expect(sent()).toEqual({ name: 'siem', follows: 'audit', to: SIEM.to, after_seal: 40 });
  expect(out).toContain('is told of the audit from now on');
  const shown = await told('show', 'siem');
  expect(shown).toMatch(/On +the audit/);
  expect(shown).toMatch(/Arrived +seal 41 of 45/);
  expect(shown).toMatch(/Failed +2 times, the last: HTTP 503, down/);
  const usual = SIEM.trail;
  try {
    SIEM.trail = { ...usual, arrived: 48, response_code: 500, detail: '' };
    const cut = await told('show', 'siem');
    expect(cut).toMatch(/Arrived +seal 48 of 45: 3 that arrived are gone here/);
    expect(cut).toMatch(/Failed +2 times, the last: HTTP 500$/m);
  } finally {
    SIEM.trail = usual;
  }
  await told('set', 'siem', '--after-seal', '0');
  expect(sent()).toEqual({ after_seal: 0 });
});

test('deliveries says of the audit where it is told how far it is, as no delivery of it is kept', async () => {
  const here = await world();
  expect(await run(['notification', 'deliveries', 'siem'], here)).toBe(0);
  expect(here.err()).toBe(
    'deliveries of the audit are not kept one by one; how far it is: muster notification show siem\n',
  );
  await server?.close();
  const other = await world();
  expect(await run(['notification', 'deliveries', 'quiet'], other)).toBe(0);
  expect(other.err()).toBe('nothing was told yet\n');
});

test('set, test and rm change it, try it, and end it', async () => {
  expect(await told('set', 'ops', '--off')).toMatch(/State +off/);
  expect(sent()).toEqual({ enabled: false });
  expect(await told('test', 'ops')).toContain('muster notification deliveries ops');
  expect(await told('rm', 'ops', '--yes')).toContain('nothing more is told by ops');
});

test.each([
  [['create', 'ops', '--on', ON, '--to', 'ops@example.org'], 'ops@example.org is to be told of events'],
  [['set', 'ops', '--off'], 'ops@example.org'],
  [['test', 'ops'], 'to be logged'],
])('%j warns of mail that the server does not send, and says which setting does', async (args, line) => {
  const here = await world(true);
  expect(await run(['notification', ...args], here)).toBe(0);
  expect(here.out()).toContain(line);
  expect(here.err()).toMatch(/^this server sends no mail yet, .*outbound\.smtp_url/);
  await server?.close();
  const sending = await world();
  expect(await run(['notification', ...args], sending)).toBe(0);
  expect(sending.err()).toBe('');
});

test.each([
  [['create', 'ops', '--on', ON], '--to'],
  [['create', 'ops', '--on', ON, '--audit', '--to', 'https://a.example/'], 'either --on or --audit'],
  [['set', 'ops'], 'what is to be changed'],
  [['set', 'ops', '--off', '--enable'], 'one of'],
  [['create', 'ops', '--on', 'type =', '--to', 'a@b.example'], 'selector'],
])('%j is refused before anything is asked', async (args, reason) => {
  const here = await world();
  expect(await run(['notification', ...args], here)).toBe(2);
  expect(here.err()).toContain(reason);
  expect(server?.received).toEqual([]);
});
