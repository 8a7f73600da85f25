import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MusterError } from '@muster/base';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadSettings } from '../src/settings.js';

let cwd = '';
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'muster-settings-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

function file(name: string, text: string): string {
  mkdirSync(join(cwd, name, '..'), { recursive: true });
  writeFileSync(join(cwd, name), text);
  return join(cwd, name);
}

test('the environment alone is enough', () => {
  file('admin.pem', 'PEM');
  const env = { MUSTER_URL: 'http://h:1/', MUSTER_ORG: 'o', MUSTER_USER: 'u', MUSTER_KEY: 'admin.pem' };
  expect(loadSettings({ env, cwd })).toEqual({
    url: 'http://h:1',
    org: 'o',
    credentials: { kind: 'key', user: 'u', privateKey: 'PEM', file: join(cwd, 'admin.pem') },
    confirmAbove: 100,
    source: 'environment',
  });
});

test('a key may stand in the variable itself', () => {
  const env = { MUSTER_URL: 'http://h:1', MUSTER_USER: 'u', MUSTER_KEY: '-----BEGIN PRIVATE KEY-----' };
  const { credentials } = loadSettings({ env, cwd });
  expect(credentials).toMatchObject({ privateKey: '-----BEGIN PRIVATE KEY-----' });
});

test.each([
  ['YAML', 'url: http://h:1\ntoken: t\norg: o\nconfirm_above: 7\n'],
  ['JSON', '{"url":"http://h:1","token":"t","org":"o","confirm_above":7}'],
])('a file may be %s', (_, text) => {
  const path = file('cli.conf', text);
  expect(loadSettings({ env: {}, cwd }, { config: path })).toMatchObject({ org: 'o', confirmAbove: 7, source: path });
});

test('the key of a file is looked for beside the file', () => {
  file('etc/admin.pem', 'PEM');
  const path = file('etc/muster.yaml', 'url: http://h:1\nuser: u\nkey: admin.pem\n');
  expect(loadSettings({ env: {}, cwd }, { config: path }).credentials).toMatchObject({ privateKey: 'PEM' });
});

test('--config counts more than MUSTER_CONFIG, and variables count more than both', () => {
  const a = file('a.yaml', 'url: http://a:1\ntoken: a\norg: a\n');
  const b = file('b.yaml', 'url: http://b:1\ntoken: b\n');
  expect(loadSettings({ env: { MUSTER_CONFIG: a }, cwd }, { config: b }).url).toBe('http://b:1');
  expect(loadSettings({ env: { MUSTER_CONFIG: a, MUSTER_ORG: 'x' }, cwd }).org).toBe('x');
});

test('a token from the environment replaces the key of the file, and a key its token', () => {
  const path = file('a.yaml', 'url: http://a:1\nuser: u\nkey: missing.pem\n');
  expect(loadSettings({ env: { MUSTER_TOKEN: 't' }, cwd }, { config: path }).credentials).toEqual({
    kind: 'token',
    token: 't',
    user: 'u',
  });
  file('own.pem', 'PEM');
  const kept = file('b.yaml', 'url: http://b:1\ntoken: b\n');
  const env = { MUSTER_USER: 'u', MUSTER_KEY: 'own.pem' };
  expect(loadSettings({ env, cwd }, { config: kept }).credentials).toMatchObject({ kind: 'key', user: 'u' });
});

test('without any setting the file of a server started here is used', () => {
  file('muster-data/admin.pem', 'PEM');
  file('muster-data/muster.yaml', 'url: http://here:1\nuser: admin\nkey: admin.pem\n');
  expect(loadSettings({ env: {}, cwd }).url).toBe('http://here:1');
});

test('without that, a person’s own file is found in the home directory', () => {
  file('.muster/alice.pem', 'PEM');
  file('.muster/muster.yaml', 'url: http://own:1\nuser: alice\nkey: alice.pem\n');
  const elsewhere = join(cwd, 'work');
  const settings = loadSettings({ env: { HOME: cwd }, cwd: elsewhere });
  expect(settings).toMatchObject({ url: 'http://own:1', credentials: { user: 'alice', privateKey: 'PEM' } });
  // A server that was started here, or is named, is meant instead.
  file('work/muster-data/muster.yaml', 'url: http://here:1\ntoken: t\n');
  expect(loadSettings({ env: { HOME: cwd }, cwd: elsewhere }).url).toBe('http://here:1');
  expect(loadSettings({ env: { HOME: cwd, MUSTER_URL: 'http://env:1', MUSTER_TOKEN: 't' }, cwd }).url).toBe(
    'http://env:1',
  );
});

test.each([
  ['nothing is set', {}, /no server is set/],
  ['the URL is none', { MUSTER_URL: 'nonsense', MUSTER_TOKEN: 't' }, /not an http:\/\/ or https:\/\/ URL/],
  ['nobody signs', { MUSTER_URL: 'http://h:1' }, /MUSTER_USER and MUSTER_KEY/],
  ['the key is missing', { MUSTER_URL: 'http://h:1', MUSTER_USER: 'u', MUSTER_KEY: 'no.pem' }, /no\.pem/],
  ['the file is missing', { MUSTER_CONFIG: 'no.yaml' }, /cannot read .*no\.yaml/],
])('it is a usage error when %s', (_, env, message) => {
  expect(() => loadSettings({ env, cwd })).toThrow(MusterError);
  expect(() => loadSettings({ env, cwd })).toThrow(message);
});

test('an unknown key of the file is named', () => {
  const path = file('a.yaml', 'url: http://a:1\ntokn: t\n');
  expect(() => loadSettings({ env: {}, cwd }, { config: path })).toThrow(/unknown key 'tokn'/);
});
