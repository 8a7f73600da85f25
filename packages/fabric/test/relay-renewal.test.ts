import { ManualClock, MusterError } from '@muster/base';
import { afterEach, describe, expect, test } from 'vitest';
import { type Frame, header } from '../src/stomp/frame.js';
import type { ScriptedParent } from './relay-support/scripted-parent.js';
import { realRoot, relayBelow, scriptedParent, small, stopAll, type TestRelay } from './relay-support/start.js';
import { typesOf } from './support/raw-client.js';

afterEach(stopAll);

/** Upstream goes away and comes back; meanwhile something happens there that the relay does not hear of. */
async function outage(parent: ScriptedParent, relay: TestRelay, meanwhile: () => void): Promise<void> {
  const { connects } = relay.status().upstream;
  await parent.die();
  await relay.until(({ upstream }) => upstream.state === 'degraded');
  meanwhile();
  await parent.listen();
  await relay.until(({ upstream }) => upstream.connects === connects + 1);
}

/** Logins that were asked about with the grounds of before. */
const renewals = (parent: ScriptedParent) =>
  parent
    .of('SEND')
    .map(({ body }: Frame) => Buffer.from(body).toString())
    .filter((body) => body.includes('"grounds"'))
    .map((body) => JSON.parse(body).login);

describe('after an outage of upstream', () => {
  test('a client whose login was withdrawn meanwhile is cut; the others stay and hear events', async () => {
    const { parent, relay } = await small();
    parent.allow('default/revoked');
    const [revoked, other] = [await relay.client('default/revoked'), await relay.client()];
    for (const client of [revoked, other]) await client.subscribe('1');
    await outage(parent, relay, () => parent.logins.delete('default/revoked'));
    expect(header(await revoked.error(), 'code')).toBe('event_revoked');
    await parent.until(() => renewals(parent).length === 2);
    parent.publish('after');
    expect(typesOf(await other.messages(2))).toEqual(['fabric.dropped', 'after']);
    expect(relay.status().drops.count).toBe(0);
  });

  test('so is one that has other rights now', async () => {
    const { parent, relay } = await small();
    const [client, other] = [await relay.client(), await relay.client('default/relay')];
    const less = { subscribe: { granted: ['temp.*'], restricted: [], open: [] } };
    await outage(parent, relay, () => parent.allow('default/client', less));
    expect(header(await client.error(), 'code')).toBe('event_revoked');
    await other.barrier();
  });

  test('clients of relays below are judged again, too', async () => {
    const parent = await scriptedParent();
    parent.allow('default/revoked');
    const upper = relayBelow(parent.url);
    const lower = relayBelow(await upper.port());
    const [revoked, other] = [await lower.client('default/revoked'), await lower.client()];
    await other.subscribe('1');
    await outage(parent, upper, () => parent.logins.delete('default/revoked'));
    expect(header(await revoked.error(), 'code')).toBe('event_revoked');
    parent.publish('after');
    expect(typesOf(await other.messages(2))).toEqual(['fabric.dropped', 'after']);
    expect(lower.status().upstream.connects).toBe(1);
  });

  test('many are judged, some at a time', async () => {
    const { parent, relay } = await small();
    const clients = await Promise.all(Array.from({ length: 250 }, () => relay.client()));
    parent.habits.answersLogins = false;
    await outage(parent, relay, () => undefined);
    await parent.until(() => renewals(parent).length === 100);
    parent.publish('meanwhile');
    parent.habits.answersLogins = true;
    await outage(parent, relay, () => undefined);
    await parent.until(() => renewals(parent).length === 350);
    for (const client of clients) await client.barrier();
    expect(renewals(parent)).toHaveLength(350);
  });

  test('whoever cannot be judged as there is too much to do is judged later', async () => {
    const root = await realRoot();
    const clock = new ManualClock();
    const relay = relayBelow(root.port, { heartBeatMs: 0 }, { clock });
    const [revoked, other] = [await relay.client('default/revoked'), await relay.client()];
    const { authority } = root;
    const renew = authority.renew.bind(authority);
    let asked = 0;
    authority.renew = async () => {
      asked += 1;
      throw new MusterError('too_busy', { what: 'logins', limit: 1 });
    };
    authority.banned.add('default/revoked');
    authority.revoke({ org: 'default', principal: 'default/relay' });
    await relay.until(({ upstream }) => upstream.state === 'degraded');
    clock.advance(60);
    await root.until(() => asked === 2);
    for (const client of [revoked, other]) await client.barrier();
    authority.renew = renew;
    const { logins } = authority;
    await root.until(() => {
      clock.advance(1);
      return authority.logins === logins + 2;
    });
    expect(header(await revoked.error(), 'code')).toBe('event_revoked');
    await other.barrier();
    expect(asked).toBe(2);
  });

  test('a withdrawal that comes later is for those who were judged again, whatever the root counted before', async () => {
    const root = await realRoot();
    root.authority.stamp = 7;
    const relay = relayBelow(root.port);
    const client = await relay.client();
    root.authority.stamp = 0;
    root.authority.revoke({ org: 'default', principal: 'default/relay' });
    await relay.until(({ upstream }) => upstream.connects === 2);
    await root.until(() => root.authority.logins === 4);
    await client.barrier();
    root.authority.revoke({ org: 'default', principal: 'default/client', before: 1 });
    expect(header(await client.error(), 'code')).toBe('event_revoked');
  });
});
