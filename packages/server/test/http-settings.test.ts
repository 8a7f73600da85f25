import { expect, it, onTestFinished } from 'vitest';
import type { Client, Reply } from '../../platform/test/support/signed-client.js';
import { startTestServer } from './support/test-server.js';

/** What of the gate can be set. */

async function start(flags: Readonly<Record<string, string>>): Promise<Client> {
  const server = await startTestServer({ flags });
  onTestFinished(() => server.stop());
  return server.api;
}

const GROUPS = '/organizations/default/groups';
const signed = (api: Client, version: '1.0' | '1.1' | '1.3') => api.call('GET', GROUPS, { version });

it('signatures with SHA-1 are taken unless it is said', async () => {
  const api = await start({});
  for (const version of ['1.0', '1.1', '1.3'] as const) expect((await signed(api, version)).status).toBe(200);
});

it('auth.min_signing refuses older versions, and says what is taken', async () => {
  const api = await start({ 'auth-min-signing': '1.3' });
  for (const version of ['1.0', '1.1'] as const) {
    const answer = await signed(api, version);
    expect([answer.status, answer.headers.get('x-muster-error')]).toEqual([400, 'signing_version_too_old']);
    expect(answer.headers.get('x-muster-fix')).toContain('1.3');
  }
  expect((await signed(api, '1.3')).status).toBe(200);
});

const forwarded = (api: Client, proto: string) =>
  api.get('/organizations/default/events', { 'x-forwarded-proto': proto, 'x-forwarded-for': '192.0.2.7' });
const webSocket = ({ body }: Reply) => (body as { websocket: string }).websocket;

it('X-Forwarded-Proto is nobody’s to say', async () => {
  const api = await start({});
  expect(webSocket(await forwarded(api, 'https'))).toMatch(/^ws:/);
});

it('but a trusted proxy’s; nothing else is a scheme', async () => {
  const api = await start({ 'http-trusted-proxies': '127.0.0.1' });
  expect(webSocket(await forwarded(api, 'https'))).toMatch(/^wss:/);
  expect(webSocket(await forwarded(api, 'gopher'))).toMatch(/^ws:/);
});

it('the audit has the address that a trusted proxy tells', async () => {
  for (const [proxies, address] of [
    ['10.0.0.0/8', '127.0.0.1'],
    ['10.0.0.0/8, 127.0.0.1', '192.0.2.7'],
  ] as const) {
    const api = await start({ 'http-trusted-proxies': proxies });
    await forwarded(api.as({ token: 'access_made-up' }), 'https');
    await expect
      .poll(async () => (await api.get('/organizations/default/audit?action=access.denied&limit=1')).body)
      .toMatchObject([{ detail: { address } }]);
  }
});

it.each(['proxy.example', '10.0.0.0/33', '10.0.0.0/8/8'])('%s is no proxy', async (proxy) => {
  await expect(startTestServer({ flags: { 'http-trusted-proxies': proxy } })).rejects.toThrow(
    `expected an IP address or ADDRESS/BITS, got ${proxy}`,
  );
});
