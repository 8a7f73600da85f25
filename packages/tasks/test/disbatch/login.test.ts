import { afterEach, expect, test } from 'vitest';
import { type Interface, openInterface, userWithToken } from '../support/disbatch-interface.js';

/** Who may use the command interface at a listener of its own. */

let dci: Interface;
afterEach(() => dci.close());

const basic = (name: string, token: string) => ({ authorization: `Basic ${btoa(`${name}:${token}`)}` });
/** As through a proxy: not from this host. */
const AWAY = { 'x-forwarded-for': '192.0.2.7' };

test('from this host nobody needs to log in', async () => {
  dci = await openInterface();
  expect((await dci.get('/queues')).status).toBe(200);
});

test('from elsewhere a login is asked for, in the words for which clients wait', async () => {
  dci = await openInterface();
  const asked = await dci.send('GET', '/queues', { headers: AWAY });
  expect(asked.status).toBe(401);
  expect(asked.headers.get('www-authenticate')).toBe('Basic realm="disbatch"');
  expect(asked.headers.get('content-type')).toBe('application/json');
});

test.each([
  ['a page of another site', { origin: 'https://evil.example' }],
  ['a page of another site that only looks', { 'sec-fetch-site': 'cross-site' }],
  ['a proxy', { forwarded: 'for=192.0.2.7' }],
])('what comes from this host on behalf of %s has to log in', async (_, headers) => {
  dci = await openInterface();
  const body = new URLSearchParams({ name: 'x', plugin: 'Disbatch::Plugin::Demo' });
  expect((await dci.send('POST', '/queues', { headers, body })).status).toBe(401);
});

test('a user and an access token log in, and may do what they may', async () => {
  dci = await openInterface();
  const admin = await userWithToken(dci, 'ann', ['admins']);
  const reader = await userWithToken(dci, 'bob', []);
  const headers = { ...AWAY, ...basic('ann', admin) };
  const body = new URLSearchParams({ name: 'demo', plugin: 'Disbatch::Plugin::Demo' });
  expect((await dci.send('POST', '/queues', { headers, body })).status).toBe(200);
  expect(dci.controller.did[0]?.by.identity).toMatchObject({ name: 'ann', type: 'user' });
  const other = { ...AWAY, ...basic('bob', reader) };
  expect((await dci.send('GET', '/queues', { headers: other })).status).toBe(200);
  const refused = await dci.send('DELETE', '/queues/demo', { headers: other });
  expect(refused).toMatchObject({ status: 403, body: { error: expect.stringContaining('task:write') } });
});

test('a page of another site changes nothing with the password that a browser was given', async () => {
  dci = await openInterface();
  const login = basic('ann', await userWithToken(dci, 'ann', ['admins']));
  const body = new URLSearchParams({ name: 'x', plugin: 'Disbatch::Plugin::Demo' });
  for (const page of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
    expect((await dci.send('POST', '/queues', { headers: { ...login, ...page }, body })).status).toBe(403);
  }
  expect(dci.controller.did).toEqual([]);
  const own = { ...login, origin: new URL(dci.url).origin };
  expect((await dci.send('POST', '/queues', { headers: own, body })).status).toBe(200);
});

test('a wrong token, and the token of somebody else, are not taken, and both are audited', async () => {
  dci = await openInterface();
  const token = await userWithToken(dci, 'ann', ['admins']);
  for (const headers of [basic('ann', 'nonsense'), basic('bob', token), { authorization: 'Basic !' }]) {
    expect((await dci.send('GET', '/queues', { headers })).status).toBe(401);
  }
  const query = { orgId: dci.organization.id, limit: 10, action: 'access.denied' };
  await expect.poll(async () => (await dci.auth.audit.page(query)).length).toBe(2);
});
