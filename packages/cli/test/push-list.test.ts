import { afterEach, expect, test } from 'vitest';
import type { Job } from '../src/api.js';
import { countsText, outcomeColour } from '../src/commands/push/outcome.js';
import { run } from '../src/run.js';
import { timeText } from '../src/summary.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

const AT = 'Sun, 16 Sep 2012 12:00:00 GMT';
const ID = `${'0'.repeat(12)}0123456789abcdef0123`;
const JOB = { id: ID, status: 'complete', command: 'chef-client', created_at: AT, created_by: 'alice' };

let server: ApiServer | undefined;
afterEach(() => server?.close());

async function list(
  job: object,
  options: { readonly terminal?: boolean; readonly colours?: boolean; readonly argv?: readonly string[] } = {},
) {
  server = await apiServer({ 'GET /organizations/o/pushy/jobs': json([{ ...JOB, ...job }]) });
  const env = {
    MUSTER_URL: server.url,
    MUSTER_ORG: 'o',
    MUSTER_TOKEN: 'T',
    ...(options.colours !== true && { NO_COLOR: '1' }),
  };
  const world = testWorld({ env, terminal: options.terminal === true });
  expect(await run(['push', 'list', ...(options.argv ?? [])], world)).toBe(0);
  expect(server.received[0]?.query.get('detail')).toBe('true');
  return world.out();
}

test('a job is listed with how its nodes ended and who started it', async () => {
  const [heading, line] = (await list({ counts: { failed: 5, crashed: 1 } })).split('\n');
  expect(heading?.split(/ +/)).toEqual(['Job', 'Status', 'Nodes', 'User', 'Started', 'Command']);
  expect(line).toBe(`${ID}  complete  0 ok, 6 failed  alice  ${timeText(AT)}  chef-client`);
});

test('on a terminal ids are short and the command is cut, so that a job is one line', async () => {
  const shown = await list({ counts: { failed: 6 }, command: 'x'.repeat(100) }, { terminal: true });
  const line = shown.split('\n')[1] ?? '';
  expect(line).toMatch(/^0123456789 {2}complete .* x+…$/);
  expect(line.length).toBeLessThanOrEqual(80);
});

test('complete is red when nodes failed', async () => {
  expect(await list({ counts: { failed: 6 } }, { terminal: true, colours: true })).toContain(
    '\u001b[31mcomplete\u001b[0m',
  );
});

test.each([
  ['confirm', 'held'],
  ['failures', 'held'],
  ['pause', 'running'],
  [null, 'running'],
])('one that waits for %s is %s', async (hold, shown) => {
  const batch = { number: 1, hold, excused: 0 };
  const running = { status: 'running', counts: { ready: 7, succeeded: 1 }, batch };
  expect(await list(running)).toMatch(new RegExp(`^${ID}  ${shown} +7 waiting, 1 ok  `, 'm'));
  await server?.close();
  server = await apiServer({
    [`GET /organizations/o/pushy/jobs/${ID}`]: json({ ...JOB, ...running, updated_at: AT }),
    [`GET /organizations/o/pushy/jobs/${ID}/nodes`]: json([]),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['push', 'status', ID], world)).toBe(0);
  expect(world.out()).toContain(`running since ${timeText(AT)}${shown === 'held' ? ', held' : ''}\n`);
  await server.close();
  expect(JSON.parse(await list(running, { argv: ['--json'] }))).toMatchObject([{ status: 'running' }]);
});

test('--json has whole ids, counts, times as all others are, and who started it', async () => {
  const jobs = JSON.parse(await list({ counts: { failed: 6 } }, { argv: ['--json'] })) as unknown[];
  expect(jobs).toEqual([{ ...JOB, created_at: '2012-09-16T12:00:00.000Z', counts: { failed: 6 } }]);
});

test.each<[NonNullable<Job['counts']>, string, string]>([
  [{ succeeded: 3 }, '3 ok', 'green'],
  [{ succeeded: 3, unavailable: 1, nacked: 1 }, '3 ok, 2 not started', 'yellow'],
  [{ was_ready: 1 }, '0 ok, 1 not started', 'yellow'],
  [{ succeeded: 1, timed_out: 1, aborted: 1, nacked: 1 }, '1 ok, 2 failed, 1 not started', 'red'],
  [{}, '0 ok', 'yellow'],
])('%j is %s, and complete is %s', (counts, text, colour) => {
  expect(countsText(counts)).toBe(text);
  expect(outcomeColour({ status: 'complete', counts })).toBe(colour);
});

test('of a job that goes on, what has not ended comes first', () => {
  expect(countsText({ new: 1, ready: 1, running: 2 })).toBe('2 waiting, 2 running');
  expect(countsText({ running: 2, succeeded: 1 })).toBe('2 running, 1 ok');
  expect(outcomeColour({ status: 'running', counts: { failed: 1 } })).toBeUndefined();
});
