import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type Answer, type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

let server: ApiServer | undefined;
afterEach(() => server?.close());

test('rm forgets a node whose key is gone already', async () => {
  server = await apiServer({
    'GET /organizations/o/ssh-nodes/box3': json({ node_name: 'box3', key_secret: 'ssh-node.box3' }),
    'DELETE /organizations/o/ssh-nodes/box3': (_, response) => response.writeHead(204).end(),
    'DELETE /organizations/o/secrets/ssh-node.box3': (_, response) => {
      response.writeHead(404, { 'content-type': 'application/json', 'x-muster-error': 'not_found' });
      response.end(JSON.stringify({ error: "secret 'ssh-node.box3' does not exist" }));
    },
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' } });
  expect(await run(['ssh-node', 'rm', 'box3', '--yes'], world), world.err()).toBe(0);
  expect(world.out()).toBe('deleted node box3\n');
});

test.each([
  ['add', ['--host', 'h', '--user', 'u', '--key-file', 'open']],
  ['rm', ['--yes']],
  ['set', ['--allow', 'uptime']],
])('%s tells who may not look, either, what a change needs', async (what, flags) => {
  const refused =
    (right: string): Answer =>
    (_, response) => {
      response.writeHead(403, { 'x-muster-error': 'forbidden', 'x-muster-fix': `It needs ${right}.` });
      response.end(JSON.stringify({ error: 'no access' }));
    };
  server = await apiServer({
    'GET /organizations/o/nodes/box1': refused('node:read'),
    'GET /organizations/o/ssh-nodes/box1': refused('node:read'),
    'POST /organizations/o/ssh-nodes': refused('org:admin'),
    'PATCH /organizations/o/ssh-nodes/box1': refused('org:admin'),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' }, cwd: keys });
  expect(await run(['ssh-node', what, 'box1', ...flags], world)).toBe(3);
  expect(world.err()).toContain('It needs org:admin.');
});

const keys = mkdtempSync(join(tmpdir(), 'muster-keys-'));
execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(keys, 'open')]);
execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', 'sesame', '-f', join(keys, 'locked')]);
afterAll(() => rmSync(keys, { recursive: true }));

async function adding(name: string, ...flags: string[]) {
  server = await apiServer({
    'GET /organizations/o/nodes/box1': json({ node_name: 'box1' }),
    'GET /organizations/o/nodes/box2': (_, response) => {
      response.writeHead(404, { 'content-type': 'application/json', 'x-muster-error': 'not_found' });
      response.end(JSON.stringify({ error: "node 'box2' does not exist" }));
    },
    'GET /organizations/o/secrets': json([{ name: 'ssh-node.box1' }, { name: 'ssh-node.box2' }]),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' }, cwd: keys });
  world.pipe('');
  const code = await run(['ssh-node', 'add', name, '--host', 'h', '--user', 'u', ...flags], world);
  expect(server.received.filter(({ method }) => method !== 'GET')).toEqual([]);
  return { code, err: world.err() };
}

test('add with a key says of a node that is there that it is there', async () => {
  const { code, err } = await adding('box1', '--key-file', 'open');
  expect([code, err]).toEqual([1, expect.stringContaining("node 'box1' already exists")]);
});

test('add leaves a secret that is there as it is', async () => {
  const { code, err } = await adding('box2', '--key-file', 'open');
  expect([code, err]).toEqual([2, expect.stringContaining('there is a secret ssh-node.box2 already')]);
});

test.each([
  ['open.pub', 'is a public key: give the private one'],
  ['locked', 'is closed with a passphrase: give the passphrase as --password-secret'],
])('add refuses the key file %s before anything is kept', async (file, told) => {
  const { code, err } = await adding('box2', '--key-file', file);
  expect([code, err]).toEqual([2, expect.stringContaining(`--key-file: ${file} ${told}`)]);
});

test('add names standard input when no policy comes from there', async () => {
  const { code, err } = await adding('box2', '--policy', '-');
  expect([code, err]).toEqual([2, expect.stringContaining('--policy: standard input must say commands')]);
});
