import type { Command } from 'commander';
import { afterEach, expect, test } from 'vitest';
import { createProgram } from '../src/program.js';
import { run } from '../src/run.js';
import { pathOfCommand } from '../src/shell.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

/** What is of this machine alone goes at once. */
const LOCAL = ['muster context rm'];

let server: ApiServer | undefined;
afterEach(() => server?.close());

const below = (command: Command): Command[] => [command, ...command.commands.flatMap(below)];
const program = await createProgram(
  { world: testWorld(), typed: [], words: undefined, exitCode: 0 },
  { serverFlags: true },
);
const removals = below(program).filter(
  (command) => /^rm(-|$)/.test(command.name()) && !LOCAL.includes(pathOfCommand(command)),
);

test.each(removals.map((command) => [pathOfCommand(command), command] as const))('%s wants --yes', (_, command) => {
  expect(command.options.map(({ flags }) => flags)).toContain('-y, --yes');
});

const KEY = 'f1'.repeat(32);
const SMALL = [
  ['user rm u', '/users/u'],
  [`user rm-key u ${KEY}`, `/users/u/keys/${KEY}`],
  ['org rm-user u', '/organizations/o/users/u'],
  ['collection rm c', '/organizations/o/collections/c'],
  ['group rm g', '/organizations/o/groups/g'],
  ['issuer rm i', '/organizations/o/issuers/i'],
  ['service rm s', '/organizations/o/services/s'],
  ['rule rm r', '/organizations/o/rules/r'],
  ['node-group rm g', '/organizations/o/node_groups/g'],
  ['access-token rm t', '/access_tokens/t'],
  ['token rm t', '/organizations/o/tokens/t'],
  ['session rm s', '/organizations/o/sessions/s'],
  ['calendar rm c', '/organizations/o/calendars/c'],
  ['notification rm n', '/organizations/o/notifications/n'],
  ['approval policy rm p', '/organizations/o/approval-policies/p'],
  ['event durable rm u d', '/organizations/o/events/durable/u/d'],
] as const;

test("the server's key is replaced at once only when somebody agrees; it is announced without a question", async () => {
  const key = { fingerprint: 'ab', since: null, next: null, previous: [] };
  server = await apiServer({ 'POST /server-key/rotation': json(key) });
  const env = { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' };
  const rotate = async (flags: readonly string[], answer?: string) => {
    const world = testWorld({ env, terminal: answer !== undefined });
    if (answer !== undefined) world.type(answer);
    return { code: await run(['server-key', 'rotate', ...flags], world), err: world.err() };
  };
  const alone = await rotate(['--revoke']);
  expect([alone.code, alone.err]).toEqual([2, expect.stringContaining("give --yes: replace the server's key now?")]);
  expect((await rotate(['--revoke'], 'n\n')).code).not.toBe(0);
  expect(server.received).toEqual([]);
  expect((await rotate(['--revoke'], 'y\n')).code).toBe(0);
  expect((await rotate(['--revoke', '--yes'])).code).toBe(0);
  expect((await rotate([])).code).toBe(0);
  expect(server.received.map(({ body }) => JSON.parse(body))).toEqual([{ revoke: true }, { revoke: true }, {}]);
});

test.each(SMALL)('%s asks on a terminal, and is refused where nobody can be asked', async (words, path) => {
  server = await apiServer({ [`DELETE ${path}`]: (_, response) => response.writeHead(204).end() });
  const env = { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' };
  const alone = testWorld({ env });
  expect(await run(words.split(' '), alone)).toBe(2);
  expect(alone.err()).toContain('nobody can be asked here, so give --yes: ');
  const asked = testWorld({ env, terminal: true });
  asked.type('n\n');
  expect(await run(words.split(' '), asked)).not.toBe(0);
  expect(asked.err()).toContain('? ');
  expect(server.received).toEqual([]);
  const agreed = testWorld({ env, terminal: true });
  agreed.type('y\n');
  expect(await run(words.split(' '), agreed), agreed.err()).toBe(0);
  expect(await run([...words.split(' '), '--yes'], testWorld({ env }))).toBe(0);
  expect(server.received.map(({ method }) => method)).toEqual(['DELETE', 'DELETE']);
});
