import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../../platform/test/support/tls.js';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

/** A server whose certificate no well-known authority has signed: here, nobody but itself. */

let server: ApiServer;
let directory: string;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'muster-ca-'));
  writeFileSync(join(directory, 'ca.pem'), TEST_CERTIFICATE);
  const routes = { 'GET /organizations/default/pushy/node_states': json([]) };
  server = await apiServer(routes, { cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY });
});
afterEach(async () => {
  await server.close();
  rmSync(directory, { recursive: true });
});

async function nodeList(env: Readonly<Record<string, string>>, flags: readonly string[] = [], url = server.url) {
  const world = testWorld({ env: { MUSTER_URL: url, MUSTER_TOKEN: 'T', ...env }, cwd: directory });
  return { code: await run([...flags, 'node', 'list', '--json'], world), err: world.err(), out: world.out() };
}

test('is said not to be trusted, and how to name who signed it', async () => {
  const { code, err } = await nodeList({});
  expect(err).toContain(`error: the certificate of ${server.url} is not trusted: self-signed certificate`);
  expect(err).toMatch(/^fix: .*--ca FILE.*MUSTER_CA.*`ca` in the settings file/m);
  expect(code).toBe(5);
});

test('for another name is said not to be valid, whoever signed it', async () => {
  const { err } = await nodeList({ MUSTER_CA: 'ca.pem' }, [], server.url.replace('localhost', '127.0.0.1'));
  expect(err).toContain('is not valid: ');
  expect(err).toContain('use a URL with a name that it is for');
});

test.each([
  ['--ca', {}, ['--ca', 'ca.pem']],
  ['MUSTER_CA', { MUSTER_CA: 'ca.pem' }, []],
  ['MUSTER_CA with the text itself', { MUSTER_CA: TEST_CERTIFICATE }, []],
])('is trusted with %s', async (_, env, flags) => {
  expect(await nodeList(env, flags)).toMatchObject({ code: 0, out: '[]\n' });
});

test('is trusted with `ca` in the settings file, beside the file', async () => {
  writeFileSync(join(directory, 'muster.yaml'), `url: ${server.url}\ntoken: T\nca: ca.pem\n`);
  const world = testWorld({ cwd: '/' });
  expect(await run(['node', 'list', '--config', join(directory, 'muster.yaml')], world)).toBe(0);
});

test('a file that holds no certificate is refused', async () => {
  writeFileSync(join(directory, 'ca.pem'), TEST_CERTIFICATE_KEY);
  expect(await nodeList({}, ['--ca', 'ca.pem'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('ca.pem holds no PEM certificate'),
  });
});
