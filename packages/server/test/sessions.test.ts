import { once } from 'node:events';
import { ManualClock } from '@muster/base';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { EventClient } from '../../platform/test/support/event-client.js';
import { newKey, sharedKey } from '../../platform/test/support/personas.js';
import type { Client, Reply } from '../../platform/test/support/signed-client.js';
import { Browser } from './support/browser.js';
import { startTestServer, type TestServer } from './support/test-server.js';

/** People sign in to the console with a browser. */

const ORG = '/organizations/default';
const LINKS = `${ORG}/sign-in-links`;
const SESSIONS = `${ORG}/sessions`;
const MINUTE = 60_000;
const { publicKey: public_key, privateKey } = sharedKey();
const clock = new ManualClock();
let server: TestServer;
let alice: Client;
let browser: Browser;
let users = 0;
const open: EventClient[] = [];

beforeAll(async () => {
  server = await startTestServer({ clock });
});
afterAll(() => server.stop());
beforeEach(async () => {
  alice = await newUser();
  browser = new Browser(server.url);
});
afterEach(async () => {
  for (const client of open.splice(0)) await client.close();
});

let name = '';
async function newUser(): Promise<Client> {
  name = `alice${++users}`;
  const made = await server.api.post('/users', { name, public_key, organization: 'default' });
  expect(made.status, made.text).toBe(201);
  return server.api.as({ name, privateKey });
}

async function newLink(client = alice): Promise<string> {
  const { status, body, text } = await client.post(LINKS);
  expect(status, text).toBe(201);
  const [, secret = ''] = (body as { url: string }).url.split('/console/#sign-in=');
  return secret;
}

async function newToken(body: object = {}): Promise<{ id: string; token: string }> {
  const made = await alice.post('/access_tokens', body);
  expect(made.status, made.text).toBe(201);
  return made.body as { id: string; token: string };
}

async function signIn(): Promise<Reply> {
  const began = await browser.call('POST', '/session', { link: await newLink() });
  expect(began.status, began.text).toBe(201);
  return began;
}

const code = ({ status, headers }: Reply) => [status, headers.get('x-muster-error')];
const ended = async () => code(await browser.call('GET', '/session'));
const ENDED = [401, 'session_ended'];

async function ticket(): Promise<string> {
  const made = await browser.call('POST', '/session/ticket');
  expect(made.status, made.text).toBe(201);
  return (made.body as { ticket: string }).ticket;
}

const websocket = () => `${server.url.replace('http', 'ws')}/stomp`;

async function connect(passcode: string, login = `default/${name}`): Promise<EventClient> {
  const client = await EventClient.login(websocket(), login, passcode);
  open.push(client);
  return client;
}

/** A refusal takes its time by the clock of the server. */
async function refused(attempt: Promise<unknown>): Promise<void> {
  let over = false;
  const expected = expect(attempt)
    .rejects.toThrow('login refused')
    .finally(() => {
      over = true;
    });
  await expect
    .poll(() => {
      if (!over && clock.pending > 0) clock.advance(500);
      return over;
    })
    .toBe(true);
  await expected;
}

describe('a link', () => {
  it('is for the console of this server, and says until when', async () => {
    const { body } = await alice.post(LINKS);
    const expires_at = new Date(clock.now() + MINUTE).toISOString();
    const url = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/console\/#sign-in=link_[\w-]{43}$/);
    expect(body).toEqual({ url, expires_at });
  });

  it('tells whom it signs in, and is not used up by that', async () => {
    const link = await newLink();
    for (let times = 0; times < 2; times++) {
      const told = await browser.call('POST', '/session/preview', { link });
      expect([told.status, told.body]).toEqual([
        200,
        { organization: 'default', user: name, expires_at: expect.any(String) },
      ]);
    }
    expect((await browser.call('POST', '/session', { link })).status).toBe(201);
    expect(code(await browser.call('POST', '/session/preview', { link }))).toEqual([401, 'invalid_link']);
  });

  it('signs in once, also when two come at the same time', async () => {
    const link = await newLink();
    const both = await Promise.all([1, 2].map(() => new Browser(server.url).call('POST', '/session', { link })));
    expect(both.map(code).sort()).toEqual([
      [201, null],
      [401, 'invalid_link'],
    ]);
  });

  it('is good for a minute', async () => {
    const link = await newLink();
    clock.advance(MINUTE);
    expect(code(await browser.call('POST', '/session', { link }))).toEqual([401, 'invalid_link']);
  });

  it('is of no use once the token that made it is gone', async () => {
    const { id, token } = await newToken();
    const link = await newLink(server.api.as({ token }));
    await alice.delete(`/access_tokens/${id}`);
    expect(code(await browser.call('POST', '/session', { link }))).toEqual([401, 'invalid_link']);
  });

  it('is made by no session, no node and no service, and not without end', async () => {
    await signIn();
    expect(code(await browser.call('POST', LINKS))).toEqual([403, 'session_not_enough']);
    const service = `service${users}`;
    await server.api.post(`${ORG}/services`, { name: service, public_key });
    const { token } = (await server.api.post(`${ORG}/services/${service}/access_tokens`, {})).body as { token: string };
    expect(code(await server.api.as({ token }).post(LINKS))).toEqual([403, 'not_a_user']);
    expect(code(await browser.call('POST', '/session', { token }))).toEqual([403, 'not_a_user']);
    for (let made = 0; made < 20; made++) await newLink();
    expect(code(await alice.post(LINKS))).toEqual([503, 'too_busy']);
  });
});

describe('a session', () => {
  it('is in a cookie that scripts and other sites do not see, and acts for its user', async () => {
    const began = await signIn();
    const cookie = String(began.headers.get('set-cookie'));
    expect(cookie).toMatch(/^muster=session_[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
    const told = await browser.call('GET', '/session');
    expect([told.status, told.body]).toEqual([200, began.body]);
    const { permissions, missing, ...about } = told.body as {
      permissions: { permission: string; by: object[] }[];
      missing: { permission: string; holders: string }[];
    };
    const expires_at = new Date(clock.now() + 12 * 60 * MINUTE).toISOString();
    expect(about).toEqual({ organization: 'default', user: name, expires_at });
    expect(permissions).toContainEqual({ permission: 'member', by: [{ kind: 'member', name: null }] });
    const holders = 'members of admins; server administrators'.replace('admins', "'admins'");
    expect(missing).toContainEqual({ permission: 'org:admin', holders });
    const who = await browser.call('GET', `${ORG}/whoami`);
    expect(who.body).toMatchObject({ name, by: 'session', expires_at });
    expect((await browser.call('GET', '/users')).status).toBe(200);
    expect(code(await browser.call('GET', `${ORG}/audit`))).toEqual([403, 'forbidden']);
  });

  it('is Secure and of this host alone by TLS', async () => {
    const proxied = await startTestServer({ flags: { 'http-trusted-proxies': '127.0.0.1' } });
    try {
      const made = (await proxied.api.post(LINKS)).body as { url: string };
      const [, link = ''] = made.url.split('#sign-in=');
      const secure = new Browser(proxied.url);
      const headers = { 'x-forwarded-proto': 'https' };
      const began = await secure.call('POST', '/session', { link }, { headers });
      expect(began.headers.get('set-cookie')).toMatch(
        /^__Host-muster=session_[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
      );
      expect((await secure.call('GET', '/session', undefined, { headers })).status).toBe(200);
      // What came by TLS is not taken without it.
      expect((await secure.call('GET', '/session')).status).toBe(401);
    } finally {
      await proxied.stop();
    }
  });

  it('makes and empowers nobody, as an access token', async () => {
    await signIn();
    expect(code(await browser.call('POST', '/access_tokens', {}))).toEqual([403, 'signature_required']);
  });

  it('counts less than a signature or a token that comes along', async () => {
    await signIn();
    const { token } = await newToken();
    const headers = { authorization: `Bearer ${token}` };
    const who = await browser.call('GET', `${ORG}/whoami`, undefined, { headers });
    expect(who.body).toMatchObject({ by: 'token' });
    expect(code(await browser.call('GET', '/session', undefined, { headers }))).toEqual([409, 'not_signed_in']);
  });

  it('who has none is told so', async () => {
    expect(code(await browser.call('GET', '/session'))).toEqual([401, 'login_missing']);
    browser.cookies.set('muster', `session_${'x'.repeat(43)}`);
    expect(await ended()).toEqual(ENDED);
    expect(code(await browser.call('GET', `${ORG}/groups`))).toEqual(ENDED);
  });

  it('ends when nobody uses it for half an hour', async () => {
    await signIn();
    for (let times = 0; times < 2; times++) {
      clock.advance(29 * MINUTE);
      expect((await browser.call('GET', '/session')).status).toBe(200);
    }
    clock.advance(30 * MINUTE);
    expect(await ended()).toEqual(ENDED);
  });

  it('goes on over a restart', async () => {
    await signIn();
    clock.advance(20 * MINUTE);
    expect((await browser.call('GET', '/session')).status).toBe(200);
    await server.restart();
    browser = Object.assign(new Browser(server.url), { cookies: browser.cookies });
    clock.advance(20 * MINUTE);
    expect((await browser.call('GET', '/session')).status).toBe(200);
  });

  it('ends by signing out, and its cookie goes', async () => {
    await signIn();
    const cookies = new Map(browser.cookies);
    const out = await browser.call('DELETE', '/session');
    expect([out.status, browser.cookies.size]).toEqual([204, 0]);
    for (const [cookie, value] of cookies) browser.cookies.set(cookie, value);
    expect(await ended()).toEqual(ENDED);
  });

  it('ends when another one begins in the same browser', async () => {
    await signIn();
    await signIn();
    const listed = (await alice.get(SESSIONS)).body as object[];
    expect(listed.length).toBe(1);
  });

  it.each([
    ['its user is deleted', () => server.api.delete(`/users/${name}`)],
    ['its user leaves the organization', () => server.api.delete(`${ORG}/users/${name}`)],
    [
      'the key that made the link is taken away',
      async () => {
        await alice.post(`/users/${name}/keys`, { public_key: newKey().publicKey });
        const keys = (await alice.get(`/users/${name}/keys`)).body as { fingerprint: string }[];
        const [first] = keys;
        return alice.delete(`/users/${name}/keys/${first?.fingerprint}`);
      },
    ],
  ] as const)('ends, and its connection, when %s', async (_, lose) => {
    await signIn();
    const client = await connect(await ticket());
    expect((await lose()).status).toBeLessThan(300);
    await client.closed;
    expect(await ended()).toEqual(ENDED);
  });
});

describe('a session by an access token', () => {
  it('ends with the token, by itself and when that is deleted', async () => {
    const { token } = await newToken({ ttl: 600 });
    const began = await browser.call('POST', '/session', { token });
    expect(began.body).toMatchObject({ user: name, expires_at: new Date(clock.now() + 10 * MINUTE).toISOString() });
    clock.advance(10 * MINUTE);
    expect(await ended()).toEqual(ENDED);
    const other = await newToken();
    expect((await browser.call('POST', '/session', { token: other.token })).status).toBe(201);
    await alice.delete(`/access_tokens/${other.id}`);
    expect(await ended()).toEqual(ENDED);
  });

  it('is where the token says, or who signs in', async () => {
    const second = `second${users}`;
    await server.api.post('/organizations', { name: second });
    expect((await server.api.post(`/organizations/${second}/users/${name}`)).status).toBe(204);
    const { token: bound } = await newToken({ organization: 'default' });
    const { token: free } = await newToken();
    const begin = (body: object) => browser.call('POST', '/session', body);
    expect((await begin({ token: bound })).body).toMatchObject({ organization: 'default' });
    expect((await begin({ token: free, organization: second })).body).toMatchObject({ organization: second });
    expect(code(await begin({ token: free }))).toEqual([400, 'tenant_unclear']);
    expect(code(await begin({ token: free, organization: 'nowhere' }))).toEqual([404, 'organization_not_found']);
    expect(code(await begin({ token: 'access_x', organization: 'nowhere' }))).toEqual([401, 'invalid_token']);
  });

  it.each([[{}], [{ link: 'a', token: 'b' }], [{ link: 'a', more: 1 }]])('takes no %j', async (body) => {
    expect(code(await browser.call('POST', '/session', body))).toEqual([400, 'invalid_field']);
  });

  it('of nobody is refused like a link of nobody, and nothing is written', async () => {
    expect(code(await browser.call('POST', '/session', { token: 'access_x' }))).toEqual([401, 'invalid_token']);
    expect(code(await browser.call('POST', '/session', { link: 'link_x' }))).toEqual([401, 'invalid_link']);
    expect(browser.cookies.size).toBe(0);
  });
});

describe('with a cookie, what changes anything', () => {
  const start = (page: object, body: unknown = {}) => browser.call('POST', '/session/ticket', body, page);

  it('comes from pages of this server', async () => {
    await signIn();
    expect((await start({})).status).toBe(201);
    expect((await start({ site: null, origin: server.url })).status).toBe(201);
  });

  it.each([
    ['another site', { site: 'cross-site' }],
    ['another port of this host', { site: 'same-site' }],
    ['another port, in an old browser', { site: null, origin: 'http://127.0.0.1:1' }],
    ['the same name by TLS, in an old browser', { site: null, origin: 'https://127.0.0.1' }],
    ['a frame that is nobody’s', { site: null, origin: 'null' }],
    ['nobody knows where', { site: null }],
    ['here by its origin, though it says otherwise', { site: 'cross-site', own: true }],
  ] as const)('is refused from %s', async (_, { site, ...more }) => {
    await signIn();
    const origin = 'own' in more ? server.url : 'origin' in more ? more.origin : undefined;
    const answer = await start({ site, ...(origin !== undefined && { origin }) });
    expect(code(answer)).toEqual([403, 'cross_site_request']);
    expect((await browser.call('GET', '/session', undefined, { site: null })).status).toBe(200);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', ''])('is JSON, and not %j', async (type) => {
    await signIn();
    expect(code(await start({ type }))).toEqual([415, 'unsupported_media_type']);
  });

  it('nor does a page elsewhere sign a browser in', async () => {
    const { token } = await newToken();
    for (const site of ['cross-site', 'same-site'] as const) {
      const answer = await browser.call('POST', '/session', { token }, { site });
      expect(code(answer)).toEqual([403, 'cross_site_request']);
    }
    expect((await browser.call('POST', '/session', { token }, { site: null })).status).toBe(201);
  });
});

describe('with a cookie, output over a WebSocket', () => {
  const OUTPUT = `${ORG}/pushy/jobs/${'a'.repeat(32)}/output/web1/stdout?follow=true`;

  /** The status and code of the answer. */
  async function asked(headers: Readonly<Record<string, string>>) {
    const cookie = [...browser.cookies].map(([key, value]) => `${key}=${value}`).join('; ');
    const socket = new WebSocket(server.url.replace('http', 'ws') + OUTPUT, { headers: { cookie, ...headers } });
    let text = '';
    socket.on('message', (data: Buffer) => {
      text += data.toString('latin1');
    });
    await once(socket, 'close');
    return [Number(text.split(' ')[1]), /x-muster-error: (\w+)/i.exec(text)?.[1]];
  }

  it('is asked for by pages of this server', async () => {
    await signIn();
    expect(await asked({ origin: server.url })).toEqual([404, 'push_job_not_found']);
    expect(await asked({ 'sec-fetch-site': 'same-origin' })).toEqual([404, 'push_job_not_found']);
  });

  it.each([
    ['another port of this host', { origin: 'http://127.0.0.1:1' }],
    ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://example.com' }],
    ['nobody knows where', {}],
  ] as const)('is refused from %s', async (_, headers) => {
    await signIn();
    expect(await asked(headers)).toEqual([403, 'cross_site_request']);
  });

  it('is refused without a session', async () => {
    expect(await asked({ origin: server.url })).toEqual([400, 'missing_auth_headers']);
  });
});

describe('the event fabric', () => {
  it('takes a ticket, once', async () => {
    await signIn();
    const passcode = await ticket();
    const client = await connect(passcode);
    await client.publish('hello');
    await refused(connect(passcode));
  });

  it('takes no cookie, neither beside a login nor as one, and no ticket that is none', async () => {
    await signIn();
    const [[cookie = '', value = ''] = []] = [...browser.cookies];
    const page = new WebSocket(websocket(), ['v12.stomp'], { headers: { cookie: `${cookie}=${value}` } });
    page.on('open', () => page.send(`CONNECT\naccept-version:1.2\nhost:localhost\nlogin:default/${name}\n\n\0`));
    const heard = once(page, 'message').then(([message]) => {
      if (!/^ERROR/.test(String(message))) return;
      throw new Error('login refused');
    });
    await refused(heard);
    page.terminate();
    for (const passcode of [value, `ticket_${'x'.repeat(43)}`]) await refused(connect(passcode));
  });

  it('takes it within half a minute, from its user, while the session lasts', async () => {
    await signIn();
    const late = await ticket();
    clock.advance(30_000);
    await refused(connect(late));
    await refused(connect(await ticket(), 'default/admin'));
    const orphan = await ticket();
    await browser.call('DELETE', '/session');
    await refused(connect(orphan));
  });

  it('lets go of a page that signed out, of one that was signed out, and of one that is not used', async () => {
    await signIn();
    const first = await connect(await ticket());
    await browser.call('DELETE', '/session');
    await first.closed;
    await signIn();
    const second = await connect(await ticket());
    const [{ id }] = (await alice.get(SESSIONS)).body as [{ id: string }];
    await alice.delete(`${SESSIONS}/${id}`);
    await second.closed;
    await signIn();
    const third = await connect(await ticket());
    clock.advance(30 * MINUTE);
    // It is found out within a minute after.
    const isClosed = (): boolean => {
      clock.advance(MINUTE);
      return third.isClosed;
    };
    await expect.poll(isClosed, { interval: 200 }).toBe(true);
  });
});

describe('sessions', () => {
  it('are listed to their users, and to admins all', async () => {
    await signIn();
    clock.advance(MINUTE);
    await browser.call('GET', '/session');
    const own = (await browser.call('GET', SESSIONS)).body as object[];
    expect(own).toEqual([
      {
        ...{ id: expect.any(String), user: name, by: 'link', address: '127.0.0.1', current: true },
        created_at: expect.any(String),
        last_seen_at: new Date(clock.now()).toISOString(),
        expires_at: expect.any(String),
      },
    ]);
    const all = (await server.api.get(SESSIONS)).body as { user: string }[];
    expect(all).toContainEqual(expect.objectContaining({ user: name, current: false }));
    const stranger = await newUser();
    expect((await stranger.get(SESSIONS)).body).toEqual([]);
    const { id } = own[0] as { id: string };
    expect((await stranger.delete(`${SESSIONS}/${id}`)).status).toBe(404);
    expect((await server.api.delete(`${SESSIONS}/${id}`)).status).toBe(204);
    expect(await ended()).toEqual(ENDED);
  });

  it('are audited from the link on', async () => {
    await signIn();
    await browser.call('DELETE', '/session');
    const audit = (await server.api.get(`${ORG}/audit?actor=${name}&limit=10`)).body as { action: string }[];
    expect(audit.map(({ action }) => action)).toEqual(['session.end', 'session.begin', 'session.link']);
    expect(audit[1]).toMatchObject({ target: name, address: '127.0.0.1', detail: { by: 'link' } });
  });
});
