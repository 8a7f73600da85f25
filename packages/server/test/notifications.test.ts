import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Personas } from '../../platform/test/support/personas.js';
import { startTestServer, type TestServer } from './support/test-server.js';

const NOTIFICATIONS = '/organizations/default/notifications';
const GROUPS = '/organizations/default/groups';
const ON = "type = 'auth.group.set' AND target = 'ops'";

let server: TestServer;
let personas: Personas;
let hook: Server;
let url: string;
let code = 204;
const got: { readonly headers: IncomingMessage['headers']; readonly body: string }[] = [];

beforeAll(async () => {
  hook = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      got.push({ headers: request.headers, body: Buffer.concat(pieces).toString() });
      response.writeHead(code).end();
    });
  });
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/hook`;
  server = await startTestServer({ flags: { 'outbound-private-targets': 'true' } });
  personas = await server.personas();
});
afterEach(async () => {
  for (const { name } of (await server.api.get(NOTIFICATIONS)).body as { name: string }[]) {
    await server.api.delete(`${NOTIFICATIONS}/${name}`);
  }
  got.length = 0;
  code = 204;
});
afterAll(async () => {
  await server.stop();
  hook.closeAllConnections();
  await new Promise((resolve) => hook.close(resolve));
});

const create = (more: object = {}) => server.api.post(NOTIFICATIONS, { name: 'ops', on: ON, to: url, ...more });
const group = (...users: string[]) => server.api.put(`${GROUPS}/ops`, { users });
const deliveries = async () =>
  (await server.api.get(`${NOTIFICATIONS}/ops/deliveries`)).body as readonly Record<string, unknown>[];

describe('a notification', () => {
  it('sends a signed webhook of each event that it is about, also over a restart', async () => {
    expect((await create()).status).toBe(201);
    await group('normal-user');
    await expect.poll(() => got).toHaveLength(1);
    await server.api.put(`${GROUPS}/others`, { users: [] });
    await server.restart();
    await group();
    await expect.poll(() => got).toHaveLength(2);
    const bodies = got.map(({ body }) => JSON.parse(body));
    expect(bodies).toMatchObject([
      {
        type: 'auth.group.set',
        data: { attributes: { actor: 'admin', target: 'ops' }, body: { users: 'normal-user' } },
      },
      { type: 'auth.group.set', data: { body: { users: '' } } },
    ]);
    const { secret } = (await server.api.get('/organizations/default/webhook-secret')).body as { secret: string };
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
    for (const { headers, body } of got) {
      const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = headers;
      expect(signature).toBe(`v1,${createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')}`);
    }
    await expect
      .poll(deliveries)
      .toMatchObject([
        { event: 'auth.group.set', outcome: 'delivered', attempts: 1, response_code: 204 },
        { outcome: 'delivered' },
      ]);
  });

  it('keeps what did not come, with why, and when it is sent again', async () => {
    await create();
    code = 500;
    await group('normal-user');
    await expect.poll(deliveries).toMatchObject([{ outcome: 'waiting', attempts: 1, response_code: 500 }]);
    const [{ next_attempt: next, last_sent: last } = {}] = await deliveries();
    expect(Date.parse(String(next)) - Date.parse(String(last))).toBeGreaterThanOrEqual(5000);
  });

  it('shows what was sent last first, page by page', async () => {
    await create();
    const sent: string[] = [];
    for (const users of [['normal-user'], [], ['normal-user'], [], ['normal-user']]) {
      await group(...users);
      await expect.poll(() => got).toHaveLength(sent.length + 1);
      sent.unshift(String(got.at(-1)?.headers['webhook-id']));
    }
    const page = async (query: string) =>
      ((await server.api.get(`${NOTIFICATIONS}/ops/deliveries${query}`)).body as { id: string }[]).map(({ id }) => id);
    expect(await page('')).toEqual(sent);
    expect(await page('?limit=2')).toEqual(sent.slice(0, 2));
    expect(await page('?limit=2&offset=2')).toEqual(sent.slice(2, 4));
    expect(await page('?limit=2&offset=4')).toEqual(sent.slice(4));
  });

  it('that is told never to try again gives up at once', async () => {
    await create({ retries: 0 });
    code = 500;
    await group('normal-user');
    await expect.poll(deliveries).toMatchObject([{ outcome: 'given_up', attempts: 1 }]);
  });

  it('can be tried out, switched off and pointed elsewhere', async () => {
    await create({ to: `${url}/old` });
    const changed = await server.api.call('PATCH', `${NOTIFICATIONS}/ops`, {
      body: { to: url, enabled: false, retries: 3 },
    });
    expect(changed.body).toMatchObject({ name: 'ops', on: ON, to: url, enabled: false, retries: 3, skipped: 0 });
    const { id } = (await server.api.post(`${NOTIFICATIONS}/ops/test`)).body as { id: string };
    await expect.poll(() => got).toHaveLength(1);
    expect(got[0]?.headers['webhook-id']).toBe(id);
    expect(JSON.parse(got[0]?.body ?? '')).toMatchObject({ type: 'muster.test', data: { notification: 'ops' } });
    expect((await server.api.get(`${NOTIFICATIONS}/ops`)).body).toEqual(changed.body);
  });

  it('is for administrators alone, is made by a signed request, and is in the audit without the path of its target', async () => {
    const secret = 'T0K3N';
    await create({ to: `https://hooks.example.org/services/${secret}` });
    for (const [method, path] of [
      ['GET', NOTIFICATIONS],
      ['POST', NOTIFICATIONS],
      ['PATCH', `${NOTIFICATIONS}/ops`],
      ['DELETE', `${NOTIFICATIONS}/ops`],
      ['POST', `${NOTIFICATIONS}/ops/test`],
      ['GET', `${NOTIFICATIONS}/ops/deliveries`],
      ['GET', '/organizations/default/webhook-secret'],
    ] as const) {
      const body = { POST: { name: 'x', on: ON, to: url }, PATCH: { to: url } }[method as string];
      const reply = await server.api.as(personas.normal).call(method, path, body === undefined ? {} : { body });
      expect([method, path, reply.status]).toEqual([method, path, 403]);
    }
    const audit = await server.api.get('/organizations/default/audit?action=notification.create&limit=1');
    expect(audit.body).toMatchObject([{ actor: 'admin', target: 'ops', detail: { to: 'hooks.example.org' } }]);
    expect(audit.text).not.toContain(secret);
  });

  it.each([
    [{ on: 'type =' }, 'on'],
    [{ to: 'nowhere' }, 'to'],
    [{ name: 'a b' }, 'name'],
    [{ retries: -1 }, 'retries'],
    [{ every: 1 }, 'every'],
  ])('with %j is refused by the name of its field', async (more, field) => {
    const { status, text } = await create(more);
    expect(status).toBe(400);
    expect(text).toContain(field);
  });

  it('of the audit sends a signed webhook of each seal with its entries, also over a restart and an outage', async () => {
    code = 503;
    const made = await server.api.post(NOTIFICATIONS, { name: 'ops', follows: 'audit', to: url });
    expect(made.body).toMatchObject({ follows: 'audit', on: null, trail: { arrived: 0, attempts: 0 } });
    await expect.poll(() => got.length).toBeGreaterThan(0);
    await group('normal-user');
    code = 204;
    await server.restart();
    // Whoever does not want to wait for the next attempt changes something.
    await server.api.call('PATCH', `${NOTIFICATIONS}/ops`, { body: { enabled: true } });
    const read = async () => {
      const { body } = await server.api.get('/organizations/default/audit/seals');
      return body as { readonly public_key: string; readonly seals: readonly { readonly entries: string[] }[] };
    };
    const arrived = () => new Map(got.map(({ headers, body }) => [headers['webhook-id'], JSON.parse(body).data]));
    const texts = () =>
      [...arrived().values()].map(({ seal, entries }) => ({
        seal,
        entries: entries.map((one: object) => JSON.stringify(one)),
      }));
    await expect
      .poll(async () => (await read()).seals.flatMap(({ entries }) => entries).join())
      .toContain('notification.change');
    const { seals, public_key: key } = await read();
    await expect.poll(() => texts().slice(0, seals.length)).toEqual(seals);
    expect([...arrived().values()][0]).toMatchObject({ organization: 'default', public_key: key });
    const { secret } = (await server.api.get('/organizations/default/webhook-secret')).body as { secret: string };
    for (const { headers, body } of got) {
      const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
      const hmac = createHmac('sha256', Buffer.from(secret.replace('whsec_', ''), 'base64')).update(signed);
      expect(headers['webhook-signature']).toBe(`v1,${hmac.digest('base64')}`);
    }
  });

  it('that is not there is not found', async () => {
    for (const at of ['none', 'none/deliveries']) {
      expect((await server.api.get(`${NOTIFICATIONS}/${at}`)).status).toBe(404);
    }
  });
});
