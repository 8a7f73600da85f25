import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { loadSettings } from '../src/settings.js';
import { testWorld } from './support/world.js';

/** `muster context`, and which settings commands then find. */

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'muster-context-'));
});
afterEach(() => rmSync(home, { recursive: true }));

async function muster(...words: string[]) {
  const world = testWorld({ cwd: home, env: { HOME: home, NO_COLOR: '1' } });
  const code = await run(['context', ...words], world);
  return { code, out: world.out(), err: world.err() };
}

const settings = (flags = {}, env = {}) => loadSettings({ env: { HOME: home, ...env }, cwd: home }, flags);

beforeEach(async () => {
  writeFileSync(join(home, 'alice.pem'), 'PEM');
  expect((await muster('add', 'prod', '--url', 'https://p:1', '--user', 'alice', '--key', 'alice.pem')).code).toBe(0);
  writeFileSync(join(home, 's.yaml'), 'url: http://s:1\ntoken: t\norg: test\n');
  expect((await muster('add', 'staging', '--from', 's.yaml')).code).toBe(0);
});

test('the first context is used at once, and another when it is chosen', async () => {
  expect(settings()).toMatchObject({ url: 'https://p:1', credentials: { user: 'alice', privateKey: 'PEM' } });
  expect((await muster('use', 'staging')).out).toBe('using context staging: http://s:1\n');
  expect(settings()).toMatchObject({ url: 'http://s:1', org: 'test' });
  expect(JSON.parse((await muster('list', '--json')).out)).toEqual([
    { name: 'prod', used: false, url: 'https://p:1', org: 'default', user: 'alice' },
    { name: 'staging', used: true, url: 'http://s:1', org: 'test', user: null },
  ]);
});

test('a flag counts more than a variable, that more than the context in use; a URL in the environment needs none', () => {
  expect(settings({ context: 'staging' }, { MUSTER_CONTEXT: 'prod' }).url).toBe('http://s:1');
  expect(settings({}, { MUSTER_CONTEXT: 'staging' }).url).toBe('http://s:1');
  expect(settings({ config: 's.yaml' }, { MUSTER_CONTEXT: 'prod' }).url).toBe('http://s:1');
  expect(settings({}, { MUSTER_URL: 'http://e:1', MUSTER_TOKEN: 't' }).url).toBe('http://e:1');
  expect(() => settings({ config: 's.yaml', context: 'prod' })).toThrow('give --config or --context, not both');
});

test('a context is kept for its owner only, and not written over', async () => {
  expect(statSync(join(home, '.muster/contexts/prod.yaml')).mode & 0o777).toBe(0o600);
  const again = await muster('add', 'prod', '--url', 'https://q:1', '--token', 't');
  expect([again.code, again.err]).toEqual([2, expect.stringContaining('there is a context prod already')]);
  expect(settings().url).toBe('https://p:1');
});

test('one that is removed is used no more; names that there are not are told with those there are', async () => {
  expect((await muster('rm', 'prod')).code).toBe(0);
  expect(() => settings()).toThrow('no server is set');
  expect((await muster('use', 'prod')).err).toContain('there is no context prod; there are staging');
  expect((await muster('use', '../x')).err).toContain("'../x' is no name of a context");
  expect(() => settings({ context: 'prod' })).toThrow('there is no context prod; there are staging');
});
