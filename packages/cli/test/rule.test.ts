import { afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

const RULES = '/organizations/o/rules';
const ON = "type = 'disk.high'";
const RULE = {
  ...{
    name: 'r',
    on: ON,
    at_most: { runs: 1, seconds: 600 },
    enabled: true,
    kind: 'runbook',
    ...{ task: null, job: null },
    ...{ owner: 'anna', asks: 'once', approval: '5f0c' },
  },
  runbook: { name: 'clean', parameters: { path: '{path}' }, node: '{host}' },
  ...{ not_during: ['freeze'], blackout: 'wait' },
  ...{ skipped: 2, created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-02T00:00:00.000Z' },
};
const RUN = {
  position: 7,
  at: RULE.created_at,
  event: 'disk.high',
  outcome: 'failed',
  kind: 'runbook',
  run: null,
  reason: 'no',
  held_until: null,
};
const TRIED = {
  ...{ events: 9, matched: 3, started: 1, skipped: 1, failed: 1, complete: true },
  last: [{ position: 7, at: RULE.created_at, type: 'disk.high', outcome: 'started', reason: null }],
};

let server: ApiServer | undefined;
afterEach(() => server?.close());

async function world() {
  server = await apiServer({
    [`POST ${RULES}`]: json(RULE),
    [`POST ${RULES}/dry-run`]: json(TRIED),
    [`GET ${RULES}`]: json([RULE]),
    [`GET ${RULES}/r`]: json(RULE),
    [`GET ${RULES}/r/runs`]: json([RUN]),
    [`PATCH ${RULES}/r`]: json({ approval: '5f0d', hash: '0', expires_at: RULE.created_at }),
    [`POST ${RULES}/r/off`]: json({ ...RULE, enabled: false }),
    [`DELETE ${RULES}/r`]: (_, response) => response.writeHead(204).end(),
    'POST /access_tokens': json({ id: '1', token: 'T', user: 'u', expires_at: RULE.created_at, created_by: 'u' }),
  });
  return testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
}
const sent = () => JSON.parse(server?.received.at(-1)?.body ?? 'null');
const exits = async (code: number, ...args: string[]) => {
  const here = await world();
  expect(await run(['rule', ...args], here), here.err()).toBe(code);
  return here.out();
};
const told = (...args: string[]) => exits(0, ...args);
/** Nothing was changed: others have to agree. */
const asked = (...args: string[]) => exits(6, ...args);

test('what a rule heeds is sent, and told', async () => {
  await asked('set', 'r', '--not-during', 'freeze', '--not-during', 'night', '--blackout', 'wait');
  expect(sent()).toEqual({ not_during: ['freeze', 'night'], blackout: 'wait' });
  await asked('set', 'r', '--not-during', '');
  expect(sent()).toEqual({ not_during: [] });
  expect(await told('show', 'r')).toMatch(/Not during +freeze \(waits for the end\)/);
});

test('create sends the selector, what is started, and how often at most', async () => {
  const flags = ['--run', 'clean', '--on-node', '{host}', '--param', 'path={path}', '--at-most', '1/10m'];
  expect(await told('create', 'r', '--on', ON, ...flags)).toContain('it starts runbook clean on {host} from now on');
  const runbook = { name: 'clean', parameters: { path: '{path}' }, node: '{host}' };
  expect(sent()).toEqual({ name: 'r', on: ON, at_most: { runs: 1, seconds: 600 }, runbook });
  await told('create', 'r', '--on', ON, '--queue', 'q', '--param', 'n=3', '--off');
  expect(sent()).toEqual({ name: 'r', on: ON, task: { queue: 'q', params: { n: 3 } }, enabled: false });
});

test('create sends a job as its file says', async () => {
  const job = { appId: 'blast-1.0', name: 'search {sample}', inputs: { query: '{uri}' } };
  const here = await world();
  here.pipe(JSON.stringify(job));
  expect(await run(['rule', 'create', 'r', '--on', ON, '--job', '-'], here), here.err()).toBe(0);
  expect(sent()).toEqual({ name: 'r', on: ON, job });
});

test('create --dry-run tells what would have been started of late', async () => {
  const out = await told('create', 'r', '--on', ON, '--dry-run', '--since', '2h');
  expect(sent()).toEqual({ on: ON, seconds: 7200 });
  expect(out).toContain('9 events were looked at, 3 of them match');
  expect(out).toContain('it would have started 1, and left out 1 as too many');
});

test('set --ask once waits for others to agree', async () => {
  expect(await asked('set', 'r', '--ask', 'once')).toContain('muster approval grant 5f0d');
  expect(sent()).toEqual({ asks: 'once' });
});

test('list, show, runs, set and rm', async () => {
  expect(await told('list')).toMatch(/r +on +runbook clean on \{host\} +1\/10m +2/);
  expect(await told('show', 'r')).toMatch(/Skipped +2 events/);
  expect(await told('runs', 'r')).toMatch(/disk\.high +7 +failed .*no/);
  expect(await told('set', 'r', '--off')).toMatch(/State +off/);
  expect(await told('show', 'r')).toMatch(/Asks +once, for the rule\nGranted by +approval 5f0c/);
  expect(await told('rm', 'r', '--yes')).toContain('deleted rule r');
});

test.each([
  [['create', 'r'], '--on'],
  [['create', 'r', '--on', ON], '--run RUNBOOK, --queue QUEUE or --job FILE'],
  [['create', 'r', '--on', ON, '--run', 'a', '--queue', 'b'], 'one of'],
  [['create', 'r', '--on', ON, '--run', 'a', '--job', 'job.json'], 'one of'],
  [['create', 'r', '--on', ON, '--run', 'a', '--at-most', 'often'], 'RUNS/TIME'],
  [['create', 'r', '--on', ON, '--run', 'a', '--at-most', '1'], "'1' is not RUNS/TIME, such as 1/10m"],
  [['create', 'r', '--on', ON, '--run', 'a', '--since', '1h'], '--dry-run'],
  [['create', 'r', '--on', ON, '--queue', 'q', '--on-node', 'n'], '--run'],
  [['set', 'r'], 'changed'],
])('%j is refused before anything is asked', async (args, reason) => {
  const here = await world();
  expect(await run(['rule', ...args], here)).toBe(2);
  expect(here.err()).toContain(reason);
  expect(server?.received).toEqual([]);
});
