import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '@muster/platform/config';
import { createLogger } from '@muster/platform/upkeep';
import { afterEach, describe, expect, it } from 'vitest';
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../../platform/test/support/tls.js';
import { startTestServer, type TestServer } from './support/test-server.js';

const servers: TestServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

async function started(options: Parameters<typeof startTestServer>[0] = {}): Promise<TestServer> {
  const server = await startTestServer(options);
  servers.push(server);
  return server;
}

describe('listening', () => {
  it('on an address that is taken is refused by name, and lets go of everything', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const address = other.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    await expect(startTestServer({ flags: { http: `127.0.0.1:${port}` } })).rejects.toMatchObject({
      code: 'address_in_use',
    });
    other.close();
  });

  it('beyond loopback without TLS is refused unless asked for', () => {
    const flags = { http: '0.0.0.0:8080' };
    expect(() => loadConfig({ env: {}, flags })).toThrow('refusing to listen on 0.0.0.0:8080 without TLS');
    expect(loadConfig({ env: {}, flags: { ...flags, 'insecure-http': true } }).http.insecure).toBe(true);
  });

  it('with a certificate serves HTTPS', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'muster-tls-'));
    const [cert, key] = [join(dir, 'cert.pem'), join(dir, 'key.pem')];
    writeFileSync(cert, TEST_CERTIFICATE);
    writeFileSync(key, TEST_CERTIFICATE_KEY);
    const server = await started({ flags: { 'tls-cert': cert, 'tls-key': key } });
    expect(server.url).toMatch(/^https:/);
    const status = await new Promise<number | undefined>((resolve, reject) => {
      request(`${server.url}/_status`, { rejectUnauthorized: false }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end();
    });
    expect(status).toBe(200);
    rmSync(dir, { recursive: true });
  });
});

describe('stopping', () => {
  it('ends event streams and answers no more', async () => {
    const server = await started();
    const { url, api } = server;
    const feed = api.headers('GET', '/organizations/default/pushy/job_status_feed');
    const response = await fetch(`${url}/organizations/default/pushy/job_status_feed`, { headers: feed });
    expect(response.status).toBe(200);
    await server.running.stop();
    await response.text();
    await expect(fetch(`${url}/_status`)).rejects.toThrow();
  });

  it('twice is once', async () => {
    const server = await started();
    await Promise.all([server.running.stop(), server.running.stop()]);
  });
});

describe('a handler that fails unexpectedly', () => {
  it('answers 500 without a word about why, and logs it with the request id', async () => {
    const lines: string[] = [];
    const logger = createLogger('error', { write: (line) => void lines.push(line) });
    const server = await started({
      logger,
      routes: (app) => {
        app.get('/broken', { config: { permission: 'public' } }, async () => {
          throw new Error('the secret is 42');
        });
      },
    });
    const answer = await server.api.as(null).get('/broken');
    expect(answer.status).toBe(500);
    expect(answer.body).toEqual({ error: 'internal error' });
    const logged = JSON.parse(lines[0] ?? '{}');
    expect(logged.err.message).toBe('the secret is 42');
    expect(logged.requestId).toBe(answer.headers.get('x-request-id'));
  });
});

describe('logs', () => {
  it('say once that the server is up', async () => {
    const lines: string[] = [];
    const logger = createLogger('info', { write: (line) => void lines.push(line) });
    const started = await startTestServer({ logger });
    await started.stop();
    const said = lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
    expect(said).toEqual(['muster server is up', 'muster server has stopped']);
  });

  it('never hold signatures, tokens or keys', () => {
    const lines: string[] = [];
    const logger = createLogger('info', { write: (line) => void lines.push(line) });
    logger.info(
      {
        headers: { authorization: 'Bearer hush', 'x-ops-authorization-1': 'hush', 'X-Ops-Authorization-12': 'hush' },
        body: { token: 'hush', public: 'fine' },
        deep: { er: { private_key: 'hush', password: 'hush' } },
        key: 'hush',
      },
      'a request',
    );
    expect(lines[0]).not.toContain('hush');
    expect(lines[0]).toContain('fine');
  });
});
