import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { timeText } from '../src/summary.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

const CALENDARS = '/organizations/o/calendars';
const CALENDAR = {
  ...{ name: 'freeze', description: 'releases', timezone: 'Europe/Berlin' },
  entries: [{ weekly: 'fri 18:00-mon 06:00' }, { cron: '0 2 1 * *', minutes: 240, why: 'backup' }],
  now: { until: '2026-01-05T05:00:00.000Z', goes_on: false, why: 'fri 18:00-mon 06:00' },
  ...{ created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-02T00:00:00.000Z' },
};

let server: ApiServer | undefined;
afterEach(() => server?.close());

async function world() {
  server = await apiServer({
    [`POST ${CALENDARS}`]: json(CALENDAR),
    [`GET ${CALENDARS}`]: json([CALENDAR]),
    [`GET ${CALENDARS}/freeze`]: json(CALENDAR),
    [`PATCH ${CALENDARS}/freeze`]: json({ ...CALENDAR, now: null }),
    [`DELETE ${CALENDARS}/freeze`]: (_, response) => response.writeHead(204).end(),
    'POST /access_tokens': json({ id: '1', token: 'T', user: 'u', expires_at: CALENDAR.created_at, created_by: 'u' }),
  });
  return testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' }, cwd: tmpdir() });
}
const sent = () => JSON.parse(server?.received.at(-1)?.body ?? 'null');
const told = async (...args: string[]) => {
  const here = await world();
  expect(await run(['calendar', ...args], here), here.err()).toBe(0);
  return here.out();
};

test('create sends windows of every kind, and tells whether nothing starts now', async () => {
  const flags = ['--weekly', 'sat', '--weekly', 'sun', '--dates', '2026-12-24', '--cron', '0 2 1 * * for 4h'];
  const out = await told('create', 'freeze', '--tz', 'Europe/Berlin', ...flags, '--why', 'x');
  expect(sent()).toEqual({
    ...{ name: 'freeze', timezone: 'Europe/Berlin' },
    entries: [
      { weekly: 'sat', why: 'x' },
      { weekly: 'sun', why: 'x' },
      { dates: '2026-12-24', why: 'x' },
      { cron: '0 2 1 * *', minutes: 240, why: 'x' },
    ],
  });
  expect(out).toContain(`nothing starts until ${timeText(CALENDAR.now.until)} (fri 18:00-mon 06:00)`);
});

test('create takes a file', async () => {
  const file = join(tmpdir(), `muster-calendar-${process.pid}.yaml`);
  writeFileSync(file, 'timezone: UTC\nentries:\n  - { weekly: sat }\n');
  await told('create', 'freeze', '-f', file);
  expect(sent()).toEqual({ name: 'freeze', timezone: 'UTC', entries: [{ weekly: 'sat' }] });
});

test('list, show, set and rm', async () => {
  expect(await told('list')).toMatch(/freeze +nothing until .* Europe\/Berlin +fri 18:00-mon 06:00; 0 2 1/);
  expect(await told('show', 'freeze')).toMatch(/0 2 1 \* \* for 240 min {2}backup/);
  expect(await told('set', 'freeze', '--weekly', 'sun')).toMatch(/Now +open/);
  expect(sent()).toEqual({ entries: [{ weekly: 'sun' }] });
  expect(await told('rm', 'freeze', '--yes')).toBe('deleted calendar freeze\n');
});

test.each([
  [['create', 'c'], '--weekly'],
  [['create', 'c', '--cron', '0 2 1 * *'], 'for 4h'],
  [['create', 'c', '--weekly', 'sat', '-f', 'x'], '--file'],
  [['set', 'c', '--why', 'x'], '--why'],
  [['set', 'c'], 'what is to be changed'],
])('%j is refused before anything is asked', async (args, reason) => {
  const here = await world();
  expect(await run(['calendar', ...args], here)).toBe(2);
  expect(here.err()).toContain(reason);
  expect(server?.received).toEqual([]);
});
