import { header } from '@muster/fabric';
import { describe, expect, it } from 'vitest';
import { ORG, useEventServer } from './support/event-server.js';

const events = useEventServer();
const { as, connect, create, signature, signed, token, where } = events;

describe('the server tells', () => {
  it('its members where events are', async () => {
    const { stomp, websocket } = await where();
    expect(stomp).toMatch(/^stomp:\/\/127\.0\.0\.1:\d+$/);
    expect(websocket).toBe(`${events.server.url.replace('http', 'ws')}/stomp`);
    expect((await events.api.as(null).get(`${ORG}/events`)).status).toBe(400);
  });

  it('how far the log is', async () => {
    const before = (await where()).position;
    const receipt = await (await as('alice')).publish('step');
    expect(header(receipt, 'receipt-id')).toBeDefined();
    expect((await where()).position).toBeGreaterThan(before);
  });
});

describe('events', () => {
  it('reach who follows them, with organization, source, time and position', async () => {
    const reader = await as('bob');
    await reader.subscribe("type = 'temp.high'");
    await (await as('alice')).publish('temp.high', [['celsius', '81']], 'hot');
    const event = await reader.event();
    expect(Object.fromEntries(event.headers)).toMatchObject({
      type: 'temp.high',
      celsius: '81',
      org: 'default',
      source: 'default/alice',
      'message-id': String((await where()).position),
    });
    expect(Buffer.from(event.body).toString()).toBe('hot');
  });

  it('reach browsers over WebSocket, of the same log', async () => {
    const reader = await connect('default/bob', await token('bob'), (await where()).websocket);
    await reader.subscribe("type = 'web'");
    await (await signed('default/web1')).publish('web');
    expect(header(await reader.event(), 'source')).toBe('default/web1');
  });

  it('of one organization are not seen in another', async () => {
    await events.api.post('/organizations', { name: 'other' });
    await events.api.post('/organizations/other/users/alice');
    await events.api.post('/organizations/other/users/bob');
    const reader = await as('bob');
    const [there, here] = [await as('alice', 'other'), await as('alice')];
    await reader.subscribe("type = 'mine'");
    await reader.subscribe("org = 'other' OR type = 'mine' OR 1 = 1");
    await there.publish('mine', [['n', 'there']]);
    await here.publish('mine', [['n', 'here']]);
    expect([header(await reader.event(), 'n'), header(await reader.event(), 'n')]).toEqual(['here', 'here']);
    const replay = await as('bob');
    await replay.subscribe("type = 'mine'", [['from', 'first']]);
    expect(header(await replay.event(), 'org')).toBe('default');
  });

  it('are kept over a restart of the server', async () => {
    await (await as('alice')).publish('kept', [['n', '1']]);
    await events.restart();
    const reader = await as('bob');
    await reader.subscribe("type = 'kept'", [['from', 'first']]);
    await (await as('alice')).publish('kept', [['n', '2']]);
    expect([header(await reader.event(), 'n'), header(await reader.event(), 'n')]).toEqual(['1', '2']);
  });

  it('of Muster itself come with those of others', async () => {
    const reader = await as('admin');
    await reader.subscribe("type LIKE 'auth.group.%'");
    await events.api.put(`${ORG}/groups/tell`, { users: ['alice'] });
    const event = await reader.event();
    expect([header(event, 'type'), header(event, 'source')]).toEqual(['auth.group.set', 'muster']);
  });
});

describe('a login', () => {
  it.each([
    ['without anything', '', ''],
    ['with a made-up token', 'default/alice', 'access_guess'],
    ['of somebody unknown', 'default/nobody', 'access_guess'],
    ['to an organization that is none', 'nowhere/alice', 'access_guess'],
  ])('%s is refused in the same words', async (_what, login, passcode) => {
    await expect(connect(login, passcode)).rejects.toThrow(/^login refused/);
  });

  it('with the token of another is refused', async () => {
    await expect(connect('default/alice', await token('bob'))).rejects.toThrow(/^login refused/);
  });

  it('of a node and of a service is by their keys', async () => {
    await signed('default/web1');
    await signed('default/relay');
  });

  it('that was signed is good once', async () => {
    const passcode = signature('default/web1');
    await connect('default/web1', passcode);
    await expect(connect('default/web1', passcode)).rejects.toThrow(/^login refused/);
  });

  it('of a service may be by its token', async () => {
    const issued = (await events.api.post(`${ORG}/services/relay/access_tokens`, {})).body as { token: string };
    await connect('default/relay', issued.token);
  });

  it('that is refused is in the audit', async () => {
    await connect('default/alice', 'access_guess').catch(() => undefined);
    const [entry] = (await events.api.get(`${ORG}/audit?limit=1&action=access.denied`)).body as object[];
    expect(entry).toMatchObject({ actor: 'alice', target: 'stomp', outcome: 'denied' });
  });
});

describe('who loses what the login stood on is cut off', () => {
  it('the token', async () => {
    const issued = (await events.api.post('/access_tokens', { user: 'alice' })).body as { id: string; token: string };
    const client = await connect('default/alice', issued.token);
    await events.api.delete(`/access_tokens/${issued.id}`);
    await expect(client.error()).resolves.toMatch(/./);
  });

  it('the time of the token', async () => {
    const issued = (await events.api.post('/access_tokens', { user: 'alice', ttl: 1 })).body as { token: string };
    const client = await connect('default/alice', issued.token);
    await expect(client.error()).resolves.toMatch(/./);
  });

  it('the membership', async () => {
    await create('/users', 'leaving', { organization: 'default' });
    const client = await as('leaving');
    const stays = await as('alice');
    await events.api.delete(`${ORG}/users/leaving`);
    await expect(client.error()).resolves.toMatch(/./);
    await stays.publish('still.here');
  });

  it('itself', async () => {
    await create(`${ORG}/nodes`, 'gone');
    const client = await signed('default/gone');
    expect((await events.api.delete(`${ORG}/nodes/gone`)).status).toBeLessThan(300);
    await expect(client.error()).resolves.toMatch(/./);
    await expect(signed('default/gone')).rejects.toThrow(/^login refused/);
  });
});

describe('a relay is told of logins that it has asked for and that hold no longer', () => {
  it('of its own organization, and no other', async () => {
    await events.api.post('/organizations', { name: 'apart' });
    await create('/organizations/apart/services', 'relay');
    await events.api.put('/organizations/apart/groups/event_relays', { clients: ['relay'] });
    await events.api.post('/organizations/apart/users/bob');
    const relay = await signed('apart/relay');
    for (const org of ['default', 'apart']) {
      const issued = (await events.api.post('/access_tokens', { user: 'bob' })).body as { id: string; token: string };
      const client = await connect(`${org}/bob`, issued.token);
      await events.api.delete(`/access_tokens/${issued.id}`);
      await client.error();
    }
    const told = await relay.take((one) => header(one, 'subscription') === '/temp-queue/login');
    expect(JSON.parse(Buffer.from(told.body).toString())).toMatchObject({
      revoked: { org: 'apart', principal: 'apart/bob' },
    });
  });
});
