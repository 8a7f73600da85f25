import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateKeyPair } from '@muster/signing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { loadSettings } from '../src/settings.js';
import { keepSignIn } from '../src/sign-ins.js';
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

const { privateKey, publicKey } = await generateKeyPair();

beforeEach(async () => {
  writeFileSync(join(home, 'alice.pem'), privateKey);
  expect((await muster('add', 'prod', '--url', 'https://p:1', '--user', 'alice', '--key', 'alice.pem')).code).toBe(0);
  writeFileSync(join(home, 's.yaml'), 'url: http://s:1\ntoken: t\norg: test\n');
  expect((await muster('add', 'staging', '--from', 's.yaml')).code).toBe(0);
});

test('the first context is used at once, and another when it is chosen', async () => {
  expect(settings()).toMatchObject({ url: 'https://p:1', credentials: { user: 'alice', privateKey } });
  expect((await muster('use', 'staging')).out).toBe('using context staging: http://s:1\n');
  expect(settings()).toMatchObject({ url: 'http://s:1', org: 'test' });
  expect(JSON.parse((await muster('list', '--json')).out)).toEqual([
    { name: 'prod', used: false, url: 'https://p:1', org: 'default', user: 'alice', problem: null },
    { name: 'staging', used: true, url: 'http://s:1', org: 'test', user: null, problem: null },
  ]);
});

test('--json stands before the first word as well as after the last', async () => {
  const said = async (...words: string[]) => {
    const world = testWorld({ cwd: home, env: { HOME: home } });
    expect(await run(words, world)).toBe(0);
    return world.out();
  };
  expect(await said('--json', 'context', 'list')).toBe(await said('context', 'list', '--json'));
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
  const again = await muster('add', 'prod', '--url', 'https://q:1');
  expect([again.code, again.err]).toEqual([2, expect.stringContaining('there is a context prod already')]);
  expect(settings().url).toBe('https://p:1');
});

test('whose a token is nothing on this machine proves, so that no list says it', async () => {
  writeFileSync(join(home, 'ci.token'), 'T1\n');
  const added = await muster('add', 'ci', '--url', 'https://p:1', '--user', 'bob', '--token-file', 'ci.token');
  expect([added.code, added.err]).toEqual([0, '']);
  const listed = JSON.parse((await muster('list', '--json')).out) as { name: string; user: string | null }[];
  expect(listed.find(({ name }) => name === 'ci')).toMatchObject({ user: null });
  // The server tells whether it is so.
  expect(settings({ context: 'ci' }).credentials).toEqual({ kind: 'token', user: 'bob', token: 'T1' });
});

test('a token comes from a file or from standard input, and not from the arguments', async () => {
  const add = (name: string, ...words: string[]) => ['context', 'add', name, '--url', 'http://t:1', ...words];
  writeFileSync(join(home, 'ci.token'), 'T1\n');
  expect((await muster(...add('file', '--token-file', 'ci.token').slice(1))).code).toBe(0);
  expect(settings({ context: 'file' }).credentials).toEqual({ kind: 'token', token: 'T1' });
  const world = testWorld({ cwd: home, env: { HOME: home } });
  world.pipe('T2\n');
  expect(await run(add('piped', '--token-file', '-'), world)).toBe(0);
  expect(settings({ context: 'piped' }).credentials).toEqual({ kind: 'token', token: 'T2' });
  const shown = await muster(...add('shown', '--token', 'T3').slice(1));
  expect([shown.code, shown.err]).toEqual([
    2,
    expect.stringContaining('--token-file FILE, or pipe it to --token-file -'),
  ]);
  writeFileSync(join(home, 'empty'), '\n');
  const none = await muster(...add('none', '--token-file', 'empty').slice(1));
  expect([none.code, none.err]).toEqual([2, expect.stringContaining('empty does not hold one token')]);
});

test('one that is removed is used no more; names that there are not are told with those there are', async () => {
  expect((await muster('rm', 'prod')).code).toBe(0);
  expect(() => settings()).toThrow('no server is set');
  expect((await muster('use', 'prod')).err).toContain('there is no context prod; there are staging');
  expect((await muster('use', '../x')).err).toContain("'../x' is no name of a context");
  expect(() => settings({ context: 'prod' })).toThrow('there is no context prod; there are staging');
});

test('a context that could not be used is not kept', async () => {
  rmSync(join(home, '.muster'), { recursive: true });
  writeFileSync(join(home, 'public.pem'), publicKey);
  writeFileSync(join(home, 'bad.yaml'), 'url: foo\n');
  writeFileSync(join(home, 'ci.token'), 'T1\n');
  const asAlice = (key: string) => ['--url', 'https://p:1', '--user', 'alice', '--key', key];
  const refused: readonly [words: readonly string[], said: string][] = [
    [['--url', 'foo'], "'foo' is not an http:// or https:// URL"],
    [['--url', 'foo', '--user', 'alice', '--key', 'alice.pem'], "'foo' is not an http:// or https:// URL"],
    [['--from', 'bad.yaml'], "'foo' is not an http:// or https:// URL"],
    [asAlice('none.pem'), `cannot read ${home}/none.pem (ENOENT)`],
    [asAlice('public.pem'), `${home}/public.pem is not a private key: give a PEM file without a passphrase`],
    [['--url', 'https://p:1', '--ca', 'alice.pem'], `${home}/alice.pem holds no PEM certificate`],
    [['--user', 'alice'], 'give --url URL, or --from FILE with one'],
    [[...asAlice('alice.pem'), '--token-file', 'ci.token'], 'give a key or a token, not both'],
    [['--url', 'https://p:1', '--user', 'alice'], 'nothing proves that you are alice: give --key FILE, or'],
  ];
  for (const [words, said] of refused) {
    const { code, err } = await muster('add', 'first', ...words);
    expect([code, err]).toEqual([2, expect.stringContaining(said)]);
    expect(existsSync(join(home, '.muster'))).toBe(false);
  }
});

test('nobody acts as somebody other than the one whom a context shows', async () => {
  const own = join(home, '.muster/contexts');
  writeFileSync(join(own, 'both.yaml'), 'url: https://p:1\nuser: bob\nkey: ../../alice.pem\ntoken: T1\n');
  expect(() => settings({ context: 'both' })).toThrow('context both: give a key or a token, not both');
  writeFileSync(join(own, 'bob.yaml'), 'url: https://q:1\nuser: bob\n');
  const carol = { url: 'https://q:1', org: 'default', issuer: 'work', user: 'carol', token: 'T2' };
  keepSignIn({ env: { HOME: home } }, { ...carol, expires_at: '2030-01-01T00:00:00Z' });
  const other = 'the settings name the user bob without a key, and carol is signed in: give the key of bob, ';
  expect(() => settings({ context: 'bob' })).toThrow(`context bob: ${other}`);
  const { err } = await muster('list');
  expect(err).toContain(`context bob cannot be used: ${other}`);
  writeFileSync(join(own, 'bob.yaml'), 'url: https://q:1\nuser: carol\n');
  expect(settings({ context: 'bob' }).credentials).toMatchObject({ user: 'carol', token: 'T2' });
});

test('an error is told of where a value comes from: a context, a variable before it, or a flag', () => {
  const torn = { MUSTER_KEY: 'none.pem' };
  expect(() => settings({}, torn)).toThrow(/^MUSTER_KEY: cannot read .*none\.pem \(ENOENT\)$/);
  expect(() => settings({ context: 'prod' }, { MUSTER_URL: 'foo' })).toThrow(/^MUSTER_URL: 'foo' is not/);
  expect(() => settings({}, { MUSTER_CA: 'alice.pem' })).toThrow(/^MUSTER_CA: .*alice\.pem holds no PEM certificate$/);
  expect(() => settings({ ca: 'alice.pem' })).toThrow(/^--ca: .*alice\.pem holds no PEM certificate$/);
  rmSync(join(home, 'alice.pem'));
  expect(() => settings({}, { MUSTER_ORG: 'o' })).toThrow(/^context prod: cannot read .*alice\.pem \(ENOENT\)$/);
});

test('one that cannot be used is marked in the list of all, named in errors, and not chosen', async () => {
  rmSync(join(home, 'alice.pem'));
  writeFileSync(join(home, '.muster/contexts/torn.yaml'), 'url: foo\n');
  const { code, out, err } = await muster('list');
  expect(code).toBe(0);
  expect(out).toMatch(/^\*! +prod +https:\/\/p:1/m);
  expect(out).toMatch(/^! +torn +foo/m);
  expect(out).toMatch(/^- +staging +http:\/\/s:1/m);
  expect(err).toContain(
    `context prod cannot be used: cannot read ${home}/alice.pem (ENOENT); \`muster context rm prod\``,
  );
  expect(() => settings()).toThrow(`context prod: cannot read ${home}/alice.pem (ENOENT)`);
  expect(() => settings({ context: 'torn' })).toThrow("context torn: 'foo' is not an http:// or https:// URL");
  const use = await muster('use', 'torn');
  expect([use.code, use.err]).toEqual([2, expect.stringContaining("context torn cannot be used: 'foo' is not")]);
  expect((await muster('use', 'staging')).code).toBe(0);
  expect(settings().url).toBe('http://s:1');
});
