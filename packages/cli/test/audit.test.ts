import { afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { timeText } from '../src/summary.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

let server: ApiServer | undefined;
afterEach(() => server?.close());

const AT = '2012-09-16T12:00:00Z';

async function audit(entry: object, terminal = false): Promise<string[]> {
  const whole = {
    id: 1,
    at: AT,
    actor: 'alice',
    actor_kind: 'user',
    address: '192.0.2.7',
    outcome: 'done',
    detail: {},
    ...entry,
  };
  server = await apiServer({ 'GET /organizations/o/audit': json([whole]) });
  const world = testWorld({
    env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T', NO_COLOR: '1' },
    terminal,
  });
  expect(await run(['audit'], world)).toBe(0);
  return world.out().split('\n');
}

test('the command of a job that was started is shown', async () => {
  const detail = { command: 'rm -rf /srv/old', nodes: 3, target: 'role:web' };
  const [heading, line] = await audit({ action: 'push.start', target: 'J1', detail });
  expect(heading).toMatch(/Outcome {2}Detail$/);
  expect(line).toBe(`1   ${timeText(AT)}  alice  user  192.0.2.7  push.start  J1      done     rm -rf /srv/old`);
});

test('a long command is shortened, and on a terminal so that its line fits', async () => {
  const entry = { action: 'push.start', target: 'J1', detail: { command: 'x'.repeat(200) } };
  expect((await audit(entry))[1]).toMatch(/ x{79}…$/);
  await server?.close();
  const [, line] = await audit(entry, true);
  expect(line).toMatch(/ x+…$/);
  expect(line).toHaveLength(80);
  expect(line).not.toContain('192.0.2.7');
});

test('of other entries everything that is told is shown', async () => {
  const detail = { code: 'forbidden', method: 'POST' };
  expect((await audit({ action: 'push:execute', target: '/x', detail }))[1]).toMatch(/ code=forbidden method=POST$/);
  await server?.close();
  expect((await audit({ action: 'push.abort', target: 'J1' }))[1]).toMatch(/ done {5}-$/);
});
