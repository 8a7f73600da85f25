import { afterEach, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

const RUNBOOKS = '/organizations/o/runbooks';

let server: ApiServer | undefined;
afterEach(() => server?.close());

async function muster(args: readonly string[], routes: Parameters<typeof apiServer>[0], stdin = '') {
  server = await apiServer(routes);
  const env = { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' };
  const world = testWorld({ env });
  world.pipe(stdin);
  const code = await run(['runbook', ...args], world);
  return { code, out: world.out(), err: world.err() };
}

/** What the server is told of a definition. */
async function handedIn(definition: string): Promise<unknown> {
  const made = { [`PUT ${RUNBOOKS}/r`]: json({ name: 'r', version: 2, unknown: [] }) };
  const { code, err } = await muster(['update', 'r', '-f', '-'], made, definition);
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(server?.received.at(-1)?.body ?? '');
}

test('times of a definition are written as those of flags', async () => {
  const times = ['run_timeout', 'node_timeout', 'voting_timeout', 'ack_timeout', 'wait_timeout', 'batch_pause'];
  const given = {
    command: 'true',
    ...Object.fromEntries(times.map((name) => [name, '10m'])),
    approval: { within: '4h' },
  };
  const seconds = Object.fromEntries(times.map((name) => [name, 600]));
  expect(await handedIn(stringify(given))).toEqual({ command: 'true', ...seconds, approval: { within: 14_400 } });
});

test('and what is none is told by its field', async () => {
  const { code, err } = await muster(['create', 'r', '-f', '-'], {}, "command: 'true'\nbatch_pause: soon\n");
  expect([code, err]).toEqual([2, expect.stringContaining("batch_pause: 'soon' is not a duration")]);
});

test.each([[[]], [['--json']]])(
  'what show %j says besides the definition is refused, and how to have it alone is said',
  async (form) => {
    const shown = {
      name: 'r',
      version: 1,
      author: 'a',
      updated_at: '2026-01-01T00:00:00Z',
      definition: { command: 'true' },
    };
    const { out } = await muster(['show', 'r', ...form], { [`GET ${RUNBOOKS}/r`]: json(shown) });
    await server?.close();
    const { code, err } = await muster(['update', 'r', '-f', '-'], {}, out);
    expect([code, err]).toEqual([2, expect.stringContaining('standard input holds what `muster runbook show` says')]);
    expect(err).toContain('muster runbook show RUNBOOK --definition');
  },
);

test.each([
  [
    'text of many lines',
    { script: '#!/bin/sh\necho "$1"\n\n', args: ['{{word}}'], parameters: { word: { type: 'string' } } },
  ],
  ['lines at its end', { search: 'role:web', script: 'true\n\n\n' }],
  ['what a terminal would take for a command', { command: ['echo', '\u001b[31m\u009b\u202e \u{1f600}'] }],
])('what show --definition says is handed in again as it was: %s', async (_, definition) => {
  const shown = { name: 'r', version: 1, definition: { ...definition, signature: 'of its author' } };
  const routes = { [`GET ${RUNBOOKS}/r`]: json(shown) };
  for (const form of [[], ['--json']]) {
    const { code, out } = await muster(['show', 'r', '--definition', ...form], routes);
    expect(code).toBe(0);
    await server?.close();
    expect(await handedIn(out)).toEqual(definition);
    await server?.close();
  }
});

describe('run --dry-run', () => {
  const plan = (verdict: string) => ({
    ...{ name: 'r', version: 2, command: 'true', parameters: {}, approval: false, target: 'role:web' },
    ...{ nodes: ['web1', 'web2'], restricted: [], uncertain: [], doubts: [] },
    refusals: verdict === 'reachable' ? [] : [{ node_name: 'web2', why: 'down', reason: 'down' }],
    quorum: { needed: 2, least: 1, most: 1, verdict, waits: false },
  });
  const definition = { command: 'true', batches: [1, '50%'], batch_pause: 90 };
  const dry = (verdict: string, flags: readonly string[] = []) =>
    muster(['run', 'r', '--dry-run', ...flags], {
      [`POST ${RUNBOOKS}/r/preview`]: json(plan(verdict)),
      [`GET ${RUNBOOKS}/r`]: json({ definition }),
    });

  test('says in which batches, of the version that would run', async () => {
    const { code, out, err } = await dry('reachable');
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^Batches: 1, then 50% each; 1m 30s between them$/m);
    expect(server?.received.at(-1)?.query.get('version')).toBe('2');
  });

  test('says what can be done where the quorum is out of reach: no flag of another command', async () => {
    const { code, err } = await dry('unreachable');
    expect(code).toBe(1);
    expect(err).toContain('have its author set quorum in the runbook');
    expect(err).not.toContain('--');
  });

  test('is one document with --json', async () => {
    expect(JSON.parse((await dry('reachable', ['--json'])).out)).toEqual(plan('reachable'));
  });
});

test('a parameter from standard input is without the end of its line, as a secret is, unless it is a file', async () => {
  const parameters = { token: { type: 'secret' }, config: { type: 'file' } };
  const given = async (name: string, text: string): Promise<unknown> => {
    await server?.close();
    const routes = {
      [`GET ${RUNBOOKS}/r`]: json({ name: 'r', definition: { parameters } }),
      [`POST ${RUNBOOKS}/r/run`]: json({ error: 'enough' }, 400),
    };
    await muster(['run', 'r', '--param-file', `${name}=-`], routes, text);
    return JSON.parse(server?.received.at(-1)?.body ?? '');
  };
  expect(await given('token', 'hunter22\n')).toEqual({ parameters: { token: 'hunter22' } });
  expect(await given('token', 'one\ntwo\n')).toEqual({ parameters: { token: 'one\ntwo\n' } });
  expect(await given('config', 'a=b\n')).toEqual({ parameters: { config: 'a=b\n' } });
});

test('who is shown no runbook is not told that there is none', async () => {
  const { out, err } = await muster(['list'], { [`GET ${RUNBOOKS}`]: json([]) });
  expect(out + err).toContain('no runbooks that you may look at or run');
});

test('an update to what it is already says that there is no new version', async () => {
  const made = { [`PUT ${RUNBOOKS}/r`]: json({ name: 'r', version: 2, unknown: [], unchanged: true }) };
  expect((await muster(['update', 'r', '-f', '-'], made, "command: 'true'\n")).out).toBe(
    'runbook r is unchanged: version 2\n',
  );
});
