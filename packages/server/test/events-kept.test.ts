import { header } from '@muster/fabric';
import { describe, expect, it } from 'vitest';
import { sharedKey } from '../../platform/test/support/personas.js';
import type { Client } from '../../platform/test/support/signed-client.js';
import { ORG, useEventServer } from './support/event-server.js';

const events = useEventServer();
const { as } = events;
const { privateKey } = sharedKey();

describe('future events', () => {
  const SCHEDULED = `${ORG}/events/scheduled`;
  const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();
  const later = async (user: string, type: string, at: string) =>
    header(await (await as(user)).publish(type, [['at', at]], 'x'), 'scheduled') ?? '';

  it('are published when they are due', async () => {
    const reader = await as('bob');
    await reader.subscribe("type LIKE 'due%'");
    await later('alice', 'due.later', inSeconds(1));
    await (await as('alice')).publish('due.now');
    expect(await reader.types(2)).toEqual(['due.now', 'due.later']);
  });

  it('are listed: one’s own, for admins all', async () => {
    const at = inSeconds(3600);
    const [mine, theirs] = [await later('alice', 'mine', at), await later('bob', 'theirs', at)];
    const list = async (client: Client) => (await client.get(SCHEDULED)).body as { id: string }[];
    expect(await list(events.api.as({ name: 'alice', privateKey }))).toEqual([
      expect.objectContaining({
        id: mine,
        type: 'mine',
        source: 'default/alice',
        at,
        attributes: [{ name: 'type', value: 'mine' }],
        size: 1,
      }),
    ]);
    expect((await list(events.api)).map(({ id }) => id)).toEqual([mine, theirs]);
    for (const id of [mine, theirs]) expect((await events.api.delete(`${SCHEDULED}/${id}`)).status).toBe(204);
    expect(await list(events.api)).toEqual([]);
  });

  it('of a user and of a client of the same name are each their own', async () => {
    await events.create('/users', 'twin', { organization: 'default' });
    await events.create(`${ORG}/services`, 'twin');
    const at = inSeconds(3600);
    const { token } = (await events.api.post(`${ORG}/services/twin/access_tokens`, {})).body as { token: string };
    const service = await events.connect('default/twin', token);
    const mine = await later('twin', 'mine', at);
    const theirs = header(await service.publish('theirs', [['at', at]], 'x'), 'scheduled') ?? '';
    // The key is that of both, and requests are then of the client.
    const client = events.api.as({ name: 'twin', privateKey });
    expect((await client.get(SCHEDULED)).body).toEqual([expect.objectContaining({ id: theirs, kind: 'service' })]);
    expect((await client.delete(`${SCHEDULED}/${mine}`)).status).toBe(404);
    expect((await events.api.get(SCHEDULED)).body).toEqual([
      expect.objectContaining({ id: mine, kind: 'user' }),
      expect.objectContaining({ id: theirs, kind: 'service' }),
    ]);
    for (const id of [mine, theirs]) expect((await events.api.delete(`${SCHEDULED}/${id}`)).status).toBe(204);
  });

  it('are taken back by their owner or an admin, by nobody else', async () => {
    const id = await later('alice', 'mine', inSeconds(3600));
    expect((await events.api.as({ name: 'bob', privateKey }).delete(`${SCHEDULED}/${id}`)).status).toBe(404);
    expect((await events.api.as({ name: 'alice', privateKey }).delete(`${SCHEDULED}/${id}`)).status).toBe(204);
    expect((await events.api.delete(`${SCHEDULED}/${id}`)).status).toBe(404);
  });
});

describe('durable subscriptions', () => {
  const DURABLE = `${ORG}/events/durable`;

  it('go on where they were, and are listed and deleted by who has them or an admin', async () => {
    const durable = [
      ['durable', 'inbox'],
      ['ack', 'client-individual'],
    ] as const;
    const first = await as('bob');
    await first.subscribe("type = 'mail'", durable);
    const sender = await as('alice');
    await sender.publish('mail', [['n', '1']]);
    const ack = header(await first.event(), 'ack') ?? '';
    await first.ask('ACK', [['id', ack]]);
    await first.close();
    await sender.publish('mail', [['n', '2']]);
    const second = await as('bob');
    await second.subscribe("type = 'mail'", durable);
    expect(header(await second.event(), 'n')).toBe('2');
    await second.close();

    const listed = async (client: Client) => (await client.get(DURABLE)).body;
    expect(await listed(events.api)).toEqual([
      expect.objectContaining({ principal: 'bob', name: 'inbox', selector: "type = 'mail'" }),
    ]);
    expect(await listed(events.api.as({ name: 'alice', privateKey }))).toEqual([]);
    expect((await events.api.as({ name: 'alice', privateKey }).delete(`${DURABLE}/bob/inbox`)).status).toBe(404);
    expect((await events.api.as({ name: 'bob', privateKey }).delete(`${DURABLE}/bob/inbox`)).status).toBe(204);
    expect(await listed(events.api)).toEqual([]);
  });

  it('that are deleted while they are followed end, and do not come back', async () => {
    const client = await as('bob');
    await client.subscribe('', [
      ['durable', 'inbox'],
      ['ack', 'client'],
    ]);
    await (await as('alice')).publish('mail');
    const ack = header(await client.event(), 'ack') ?? '';
    expect((await events.api.delete(`${DURABLE}/bob/inbox`)).status).toBe(204);
    client.send('ACK', [['id', ack]]);
    expect(await client.error()).toContain("the durable subscription 'inbox' was deleted");
    await events.restart();
    expect((await events.api.get(DURABLE)).body).toEqual([]);
  });

  it('of a user and of a client of the same name are two', async () => {
    await events.create('/users', 'both', { organization: 'default' });
    await events.create(`${ORG}/services`, 'both');
    const path = `${ORG}/services/both/access_tokens`;
    const { token } = (await events.api.post(path, {})).body as { token: string };
    const [user, service] = [await as('both'), await events.connect('default/both', token)];
    const durable = [
      ['durable', 'inbox'],
      ['ack', 'client'],
    ] as const;
    for (const client of [user, service]) await client.subscribe("type = 'both'", durable);
    await user.publish('both');
    for (const client of [user, service]) await client.event();
    const kinds = async (client: Client) =>
      ((await client.get(DURABLE)).body as { kind: string }[]).map(({ kind }) => kind);
    expect(await kinds(events.api)).toEqual(['service', 'user']);
    expect((await events.api.delete(`${DURABLE}/both/inbox`)).body).toMatchObject({
      error: 'invalid kind: a user and a service have one: say which',
    });
    expect((await events.api.delete(`${DURABLE}/both/inbox?kind=service`)).status).toBe(204);
    await service.error();
    await user.publish('both');
    await user.event();
    expect((await events.api.delete(`${ORG}/services/both`)).status).toBe(204);
    expect(await kinds(events.api)).toEqual(['user']);
    expect((await events.api.delete(`${DURABLE}/both/inbox`)).status).toBe(204);
  });

  it('go with who has them, also while they are followed', async () => {
    await events.create('/users', 'leaving', { organization: 'default' });
    const client = await as('leaving');
    await client.subscribe('', [
      ['durable', 'inbox'],
      ['ack', 'client'],
    ]);
    await events.api.delete(`${ORG}/users/leaving`);
    await client.error();
    // What the end of the subscription has left to be saved is dealt with then.
    await events.restart();
    expect((await events.api.get(DURABLE)).body).not.toContainEqual(expect.objectContaining({ principal: 'leaving' }));
  });
});
