import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Browser } from '../../server/test/support/browser.js';
import { startTestServer, type TestServer } from '../../server/test/support/test-server.js';
import { openerOf, openInBrowser } from '../src/open-in-browser.js';
import { run } from '../src/run.js';
import { testWorld } from './support/world.js';

/** `muster console` and `muster session`, with a server in this process. */

let server: TestServer;
let home: string;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'muster-console-'));
});
afterEach(() => rmSync(home, { recursive: true }));

async function muster(words: readonly string[], options: { env?: Record<string, string>; terminal?: boolean } = {}) {
  const { env = {}, terminal = false } = options;
  const settings = { MUSTER_CONFIG: server.running.cliConfigPath, NO_COLOR: '1', HOME: home };
  const world = testWorld({ cwd: home, env: { ...settings, ...env }, terminal });
  const code = await run([...words], world);
  return { code, out: world.out(), err: world.err() };
}

const LINK = /^http:\/\/127\.0\.0\.1:\d+\/console\/#sign-in=(link_[\w-]{43})$/;

async function signIn(url: string): Promise<Browser> {
  const browser = new Browser(server.url);
  const [, link] = LINK.exec(url) ?? [];
  const began = await browser.call('POST', '/session', { link });
  expect(began.status, began.text).toBe(201);
  return browser;
}

describe('muster console', () => {
  test('--print prints a link that signs in, and nothing else on stdout', async () => {
    const printed = await muster(['console', '--print']);
    expect(printed).toMatchObject({ code: 0, err: expect.stringContaining('signs in once, until ') });
    const browser = await signIn(printed.out.trim());
    expect((await browser.call('GET', '/session')).body).toMatchObject({ user: 'admin', organization: 'default' });
  });

  test('prints where there is no terminal, and with --json', async () => {
    const env = { DISPLAY: ':0', PATH: home };
    expect((await muster(['console'], { env })).out.trim()).toMatch(LINK);
    const { url, expires_at } = JSON.parse((await muster(['console', '--json'], { env, terminal: true })).out);
    expect([url, expires_at]).toEqual([expect.stringMatching(LINK), expect.any(String)]);
  });

  test('says it when the opener is not there, and the link is there all the same', async () => {
    const opener = openerOf(testWorld({ env: { DISPLAY: ':0' }, terminal: true }), process.platform);
    const { code, out, err } = await muster(['console'], { env: { DISPLAY: ':0', PATH: home }, terminal: true });
    expect([code, out.trim()]).toEqual([0, expect.stringMatching(LINK)]);
    expect(err).toContain(`${opener} cannot be started: open the link yourself`);
  });
});

describe('the opener', () => {
  const world = (env: Record<string, string>, terminal = true) => testWorld({ env, terminal });

  test('is that of the desktop, where somebody sees it', () => {
    expect(openerOf(world({ DISPLAY: ':0' }), 'linux')).toBe('xdg-open');
    expect(openerOf(world({ WAYLAND_DISPLAY: 'wayland-0' }), 'linux')).toBe('xdg-open');
    expect(openerOf(world({}), 'darwin')).toBe('open');
    expect(openerOf(world({}), 'linux')).toBeNull();
    expect(openerOf(world({ DISPLAY: '' }), 'linux')).toBeNull();
    expect(openerOf(world({ DISPLAY: ':0' }, false), 'linux')).toBeNull();
  });

  test('gets the link as one argument, whatever is in it', async () => {
    const told = join(home, 'told');
    const opener = join(home, 'opener');
    writeFileSync(opener, `#!/bin/sh\nprintf '%s\\n' "$#" "$1" > '${told}.part' && mv '${told}.part' '${told}'\n`);
    chmodSync(opener, 0o755);
    const url = 'http://127.0.0.1:1/console/#sign-in=$(x);"\' y';
    const around = { env: { PATH: process.env.PATH }, cwd: home };
    expect(await openInBrowser(opener, url, around)).toBe(true);
    await expect.poll(() => readWhenThere(told)).toBe(`1\n${url}\n`);
    expect(await openInBrowser(join(home, 'missing'), url, around)).toBe(false);
  });
});

function readWhenThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

test('muster session lists who is signed in, and signs out', async () => {
  const browser = await signIn((await muster(['console', '--print'])).out.trim());
  const listed = JSON.parse((await muster(['session', 'list', '--json'])).out) as { id: string; user: string }[];
  const [session] = listed;
  expect(session).toMatchObject({ user: 'admin', by: 'link' });
  expect((await muster(['session', 'list'])).out).toContain(session?.id);
  for (const { id } of listed) expect((await muster(['session', 'rm', id, '--yes'])).code).toBe(0);
  expect((await browser.call('GET', '/session')).status).toBe(401);
  expect((await muster(['session', 'list'])).err).toContain('nobody is signed in');
});
