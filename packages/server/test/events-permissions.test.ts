import { header } from '@muster/fabric';
import { describe, expect, it } from 'vitest';
import { sharedKey } from '../../platform/test/support/personas.js';
import { ORG, useEventServer } from './support/event-server.js';

const events = useEventServer();
const { as, signed, withGroup } = events;
const { privateKey } = sharedKey();

describe('permissions', () => {
  it('nobody publishes Muster’s own types', async () => {
    await expect((await as('admin')).publish('push.start')).rejects.toThrow(/push\.start/);
  });

  it('an action that is none is refused with those that there are', async () => {
    const { status, body } = await events.api.put(`${ORG}/events/access/read/temp.*`, {});
    expect([status, body]).toEqual([400, { error: 'invalid action: must be one of publish, subscribe' }]);
  });

  it('a type that is restricted is published by its holders alone', async () => {
    await events.api.put(`${ORG}/events/access/publish/temp.*`, { clients: ['web1'] });
    await (await signed('default/web1')).publish('temp.low');
    await expect((await as('alice')).publish('temp.low')).rejects.toThrow(/temp\.low/);
    await events.api.delete(`${ORG}/events/access/publish/temp.*`);
    await (await as('alice')).publish('temp.low');
  });

  it('a type that is restricted is followed by its holders alone, and asking for it alone is refused', async () => {
    await events.api.put(`${ORG}/events/access/subscribe/secret`, { users: ['bob'] });
    const [bob, alice] = [await as('bob'), await as('alice')];
    await bob.subscribe();
    await alice.subscribe();
    await expect((await as('alice')).subscribe("type = 'secret'")).rejects.toThrow(/secret/);
    await (await signed('default/web1')).publish('secret');
    await (await signed('default/web1')).publish('open');
    expect(await bob.types(2)).toEqual(['secret', 'open']);
    expect(await alice.types(1)).toEqual(['open']);
    await events.api.delete(`${ORG}/events/access/subscribe/secret`);
  });

  it.each([
    ['live', []],
    ['replayed', [['from', 'first']]],
    [
      'durable',
      [
        ['durable', 'd'],
        ['ack', 'client'],
      ],
    ],
  ] as const)('who subscribes is told when some of it is not for them: %s', async (_, more) => {
    const receipt = async (user: string, selector: string) =>
      (await as(user)).ask('SUBSCRIBE', [
        ['id', '1'],
        ['destination', '/topic/events'],
        ['selector', selector],
        ...more,
      ]);
    expect(header(await receipt('alice', 'celsius > 80'), 'narrowed')).toBe('true');
    expect(header(await receipt('alice', "type LIKE 'temp.%'"), 'narrowed')).toBeUndefined();
    expect(header(await receipt('admin', 'celsius > 80'), 'narrowed')).toBeUndefined();
  });

  it('replays are narrowed, too', async () => {
    await (await as('alice')).publish('private');
    await (await as('alice')).publish('public');
    await events.api.put(`${ORG}/events/access/subscribe/private`, { users: ['bob'] });
    const alice = await as('alice');
    await alice.subscribe("type IN ('private', 'public')", [['from', '-1h']]);
    expect(await alice.types(1)).toEqual(['public']);
    await events.api.delete(`${ORG}/events/access/subscribe/private`);
  });

  it('changes of identity are told to admins alone', async () => {
    await expect((await as('alice')).subscribe("type = 'auth.group.set'")).rejects.toThrow(/auth\.group\.set/);
    await (await as('admin')).subscribe("type = 'auth.group.set'");
    await expect((await as('alice')).subscribe("type LIKE 'auth.%' AND org = 'default'")).rejects.toThrow(/'auth\.\*'/);
    await (await as('admin')).subscribe("type LIKE 'auth.%'");
  });

  it('what tells of nodes and push jobs is for those who may read them', async () => {
    await withGroup('push_job_readers', { users: ['bob'] }, async () => {
      await (await as('bob')).subscribe("type = 'node.up'");
      await expect((await as('alice')).subscribe("type = 'node.up'")).rejects.toThrow(/node\.up/);
    });
  });

  it('only relays speak for others', async () => {
    const asked = [
      ['destination', '/topic/events'],
      ['type', 'x'],
      ['on-behalf', 'default/bob'],
      ['on-behalf-kind', 'user'],
    ] as const;
    await expect((await as('alice')).ask('SEND', asked)).rejects.toThrow(/on-behalf/);
    await withGroup('event_relays', { clients: ['relay'] }, async () => {
      const relay = await signed('default/relay');
      await relay.subscribe();
      await relay.ask('SEND', asked);
      expect(header(await relay.event(), 'source')).toBe('default/bob');
    });
  });

  it('relays, too, publish nothing of Muster’s own', async () => {
    await withGroup('event_relays', { clients: ['relay'] }, async () => {
      const relay = await signed('default/relay');
      relay.send('SEND', [
        ['destination', '/topic/events'],
        ['type', 'node.down'],
        ['on-behalf', 'default/bob'],
        ['on-behalf-kind', 'user'],
      ]);
      const refused = await relay.take((one) => header(one, 'subscription') === '/temp-queue/refused');
      expect(header(refused, 'message')).toContain("'node.down'");
    });
  });
});

describe('REST about restrictions', () => {
  const ACCESS = `${ORG}/events/access`;

  it('is for admins', async () => {
    const alice = events.api.as({ name: 'alice', privateKey });
    expect((await alice.get(ACCESS)).status).toBe(403);
    expect((await alice.put(`${ACCESS}/publish/x`, {})).status).toBe(403);
    expect((await alice.delete(`${ACCESS}/publish/x`)).status).toBe(403);
  });

  it('sets, lists and deletes them', async () => {
    const set = await events.api.put(`${ACCESS}/subscribe/a.*`, { groups: ['oncall'] });
    const stored = { action: 'subscribe', pattern: 'a.*', users: [], clients: [], groups: ['oncall'] };
    const unknown = { users: [], clients: [], groups: ['oncall'] };
    expect([set.status, set.body]).toEqual([200, { ...stored, unknown }]);
    expect((await events.api.get(ACCESS)).body).toEqual([stored]);
    expect((await events.api.delete(`${ACCESS}/subscribe/a.*`)).status).toBe(204);
    expect((await events.api.get(ACCESS)).body).toEqual([]);
    expect((await events.api.delete(`${ACCESS}/subscribe/a.*`)).status).toBe(404);
  });

  it.each(['a b', 'a*b', '**', 'x'.repeat(129), 'ä'])('refuses the pattern %j', async (pattern) => {
    const answer = await events.api.put(`${ACCESS}/publish/${encodeURIComponent(pattern)}`, {});
    expect(answer.status, answer.text).toBe(400);
  });

  it('knows two actions', async () => {
    expect((await events.api.put(`${ACCESS}/read/x`, {})).status).toBe(400);
  });
});
