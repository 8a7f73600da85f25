import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EventClient } from '../../platform/test/support/event-client.js';
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../../platform/test/support/tls.js';
import { ORG, useEventServer, type Where } from './support/event-server.js';
import { startTestServer } from './support/test-server.js';

const events = useEventServer();
const { as } = events;

describe('the listener', () => {
  it('on an address that is taken: the server does not start', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const address = other.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const starting = startTestServer({ flags: { stomp: `127.0.0.1:${port}` } });
    await expect(starting).rejects.toMatchObject({ code: 'address_in_use', details: { address: `127.0.0.1:${port}` } });
    other.close();
  });

  it('with a certificate speaks TLS alone', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'muster-tls-'));
    const [cert, key] = [join(dir, 'cert.pem'), join(dir, 'key.pem')];
    writeFileSync(cert, TEST_CERTIFICATE);
    writeFileSync(key, TEST_CERTIFICATE_KEY);
    const secure = await startTestServer({ flags: { 'stomp-tls-cert': cert, 'stomp-tls-key': key } });
    try {
      const { stomp } = (await secure.api.get(`${ORG}/events`)).body as Where;
      expect(stomp).toMatch(/^stomp\+tls:/);
      const issued = (await secure.api.post('/access_tokens', {})).body as { token: string };
      const tls = { tls: { ca: TEST_CERTIFICATE, serverName: 'localhost' } };
      const client = await EventClient.login(stomp, 'default/admin', issued.token, tls);
      await client.publish('over.tls');
      await client.close();
      await expect(EventClient.login(stomp.replace('+tls', ''), 'default/admin', issued.token)).rejects.toThrow();
    } finally {
      await secure.stop();
      rmSync(dir, { recursive: true });
    }
  });

  it('that may be told by another address tells that one', async () => {
    const advertised = await startTestServer({ flags: { 'stomp-advertise': 'events.example.com:443' } });
    const { stomp } = (await advertised.api.get(`${ORG}/events`)).body as Where;
    expect(stomp).toBe('stomp://events.example.com:443');
    await advertised.stop();
  });
});

describe('when the server stops', () => {
  it('clients are told so, over TCP and WebSocket, and nobody is let in any more', async () => {
    const stopping = await startTestServer();
    const { stomp, websocket } = (await stopping.api.get(`${ORG}/events`)).body as Where;
    const issued = (await stopping.api.post('/access_tokens', {})).body as { token: string };
    const clients = [
      await EventClient.login(stomp, 'default/admin', issued.token),
      await EventClient.login(websocket, 'default/admin', issued.token),
    ];
    const told = Promise.all(clients.map((client) => client.error()));
    await stopping.stop();
    for (const message of await told) expect(message).toContain('the server is stopping');
    await expect(EventClient.open(stomp)).rejects.toThrow();
  });
});

describe('metrics', () => {
  it('have what the fabric does', async () => {
    const client = await as('alice');
    await client.subscribe("type = 'counted'");
    await client.publish('counted');
    await client.event();
    const text = (await events.api.get('/metrics')).text;
    const value = (name: string) => Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1]);
    expect(value('muster_event_clients')).toBe(1);
    expect(value('muster_event_published_total')).toBeGreaterThan(0);
    expect(value('muster_event_deliveries_total')).toBeGreaterThan(0);
    expect(text).toMatch(/^muster_event_logins_total\{outcome="accepted"\} [1-9]/m);
  });
});
