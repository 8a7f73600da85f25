import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync, brotliDecompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { raw } from './support/browser.js';
import { startTestServer, type TestServer } from './support/test-server.js';

/** The server gives the web console to browsers. */

const SCRIPT = `console.log(${JSON.stringify('x'.repeat(500))})`;
const PAGE = '<!doctype html><title>Muster</title>';
let directory: string;
let server: TestServer;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'muster-console-'));
  mkdirSync(join(directory, 'assets'));
  writeFileSync(join(directory, 'index.html'), PAGE);
  writeFileSync(join(directory, 'index.html.br'), brotliCompressSync(PAGE));
  writeFileSync(join(directory, 'assets/main-1a2b.js'), SCRIPT);
  writeFileSync(join(directory, 'assets/main-1a2b.js.br'), brotliCompressSync(SCRIPT));
  writeFileSync(join(directory, 'assets/main-1a2b.js.gz'), gzipSync(SCRIPT));
  writeFileSync(join(directory, 'favicon.svg'), '<svg/>');
  writeFileSync(join(directory, 'notes.secret'), 'secret');
  server = await startTestServer({ consoleDirectory: pathToFileURL(`${directory}/`) });
});
afterAll(async () => {
  await server.stop();
  rmSync(directory, { recursive: true });
});

const get = (path: string, headers: Record<string, string> = {}) => raw(server.url, 'GET', path, headers);

describe('a file of the console', () => {
  it('with a hash in its name is kept for a year', async () => {
    const { status, headers, body } = await get('/console/assets/main-1a2b.js');
    expect([status, body.toString()]).toEqual([200, SCRIPT]);
    expect(headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      vary: 'Accept-Encoding',
    });
  });

  it.each([
    ['br, gzip', 'br'],
    ['gzip, deflate, br;q=0.9', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['*', 'br'],
    ['*;q=0', undefined],
    ['identity', undefined],
    ['zstd', undefined],
  ])('comes as it was compressed for %j: %s', async (accepted, encoding) => {
    const { headers, body } = await get('/console/assets/main-1a2b.js', { 'accept-encoding': accepted });
    expect(headers['content-encoding']).toBe(encoding);
    expect(headers['content-length']).toBe(String(body.length));
    if (encoding === 'br') expect(brotliDecompressSync(body).toString()).toBe(SCRIPT);
  });

  it('that was not compressed comes as it is', async () => {
    const { headers, body } = await get('/console/favicon.svg', { 'accept-encoding': 'br' });
    expect([headers['content-encoding'], headers['content-type'], body.toString()]).toEqual([
      undefined,
      'image/svg+xml',
      '<svg/>',
    ]);
  });

  it.each([
    'assets/other.js',
    'index.html.br',
    'notes.secret',
    '..%2f..%2fpackage.json',
    '%2e%2e/%2e%2e/etc/passwd.txt',
    'assets/..%2f..%2fsecret.txt',
    '__proto__.js',
  ])('that is none is not found: %s', async (path) => {
    const { status, body } = await get(`/console/${path}`);
    expect([status, String(body)]).toEqual([404, expect.stringContaining('no such route')]);
  });
});

describe('the page', () => {
  it.each(['/console/', '/console', '/console/default/nodes', '/console/default/jobs/3f2a?q=role:web'])(
    'is at %s',
    async (path) => {
      const { status, headers, body } = await get(path);
      expect([status, body.toString()]).toEqual([200, PAGE]);
      expect(headers).toMatchObject({
        'cache-control': 'no-cache',
        'content-type': 'text/html; charset=utf-8',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types muster",
      });
    },
  );

  it('is not sent again to who has it', async () => {
    const { headers } = await get('/console/');
    const again = await get('/console/default', { 'if-none-match': `W/${headers.etag}` });
    expect([again.status, again.body.length, again.headers.etag]).toEqual([304, 0, headers.etag]);
    const compressed = await get('/console/', { 'accept-encoding': 'br', 'if-none-match': String(headers.etag) });
    expect(compressed.status).toBe(200);
  });

  it('is where a browser is led that asks for the server', async () => {
    const { status, headers } = await get('/', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
    expect([status, headers.location]).toEqual([302, '/console/']);
    expect((await get('/', { accept: 'application/json' })).status).toBe(404);
  });
});

it('a server without a built console says how to build it', async () => {
  const without = await startTestServer({ consoleDirectory: pathToFileURL(`${directory}/nowhere/`) });
  try {
    for (const path of ['/console/', '/console/default/nodes']) {
      const { status, headers } = await raw(without.url, 'GET', path);
      expect([status, headers['x-muster-error']]).toEqual([404, 'console_not_built']);
      expect(headers['x-muster-fix']).toContain('npm run build');
    }
    expect((await raw(without.url, 'GET', '/', { accept: 'text/html' })).status).toBe(404);
  } finally {
    await without.stop();
  }
});

it('a server that is to have no console has none', async () => {
  const off = await startTestServer({ consoleDirectory: pathToFileURL(`${directory}/`), flags: { console: 'false' } });
  try {
    const { status, headers } = await raw(off.url, 'GET', '/console/');
    expect([status, headers['x-muster-error']]).toEqual([404, 'route_not_found']);
  } finally {
    await off.stop();
  }
});
