import { header, Samples } from '@muster/fabric';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RootFixture } from '../support/root-fixture.js';

let given: RootFixture;
beforeEach(async () => {
  given = await RootFixture.start();
});
afterEach(() => given.end());

describe('what the root counts', () => {
  test('clients, by name', async () => {
    given.authority.set('default/relay', { relay: true });
    const client = await given.client('default/alice', { version: '1.1' });
    await client.subscribe('1');
    await given.client('default/relay');
    expect(given.root.clients()).toEqual([
      {
        principal: 'default/alice',
        remote: `127.0.0.1:${client.socket.localPort}`,
        relay: false,
        version: '1.1',
        subscriptions: 1,
        queuedBytes: 0,
      },
      expect.objectContaining({ principal: 'default/relay', relay: true, subscriptions: 0 }),
    ]);
  });

  test('subscriptions, different selectors, and those that must be evaluated on every event', async () => {
    const [one, other] = await Promise.all([given.client(), given.client('other/bob')]);
    await one.subscribe('1', "type = 'a'");
    await one.subscribe('2', "type = 'a'");
    await one.subscribe('3');
    await other.subscribe('1', "type = 'a'");
    expect(given.root.subscriptions()).toEqual({ subscriptions: 4, expressions: 3, indexed: 2, unindexed: 1 });
  });

  test('events in, matched and delivered, and bytes both ways', async () => {
    const client = await given.client();
    await client.subscribe('1', 'n >= 0');
    await client.subscribe('2', 'n > 5');
    for (let n = 0; n < 10; n++) client.publish('a', [['n', String(n)]]);
    await client.messages(14);
    const { metrics } = given.root;
    expect(metrics).toMatchObject({ accepted: 1, opened: 1, eventsIn: 10, matched: 10, deliveries: 14 });
    expect(metrics.bytesOut).toBe(client.text.length);
    expect(metrics.bytesIn).toBeGreaterThan(500);
  });

  test('events of an organization in which nobody subscribes are not matched', async () => {
    const client = await given.client();
    await client.ask('SEND', [
      ['destination', '/topic/events'],
      ['type', 'a'],
    ]);
    expect(given.root.metrics).toMatchObject({ eventsIn: 1, matched: 0 });
  });

  test('refused logins', async () => {
    const client = given.raw();
    await client.connect('default/a', { passcode: 'wrong' }).catch(() => {});
    expect(header(client.frames[0] ?? { headers: [['code', 'taken']] }, 'code')).toBe('taken');
    expect(given.root.metrics).toMatchObject({ accepted: 1, opened: 0, loginsRefused: 1 });
  });

  test('how long matching takes, now and then', async () => {
    const client = await given.client();
    await client.subscribe('1', 'n >= 0');
    for (let n = 0; n < 640; n++) client.publish('a', [['n', String(n)]]);
    await client.messages(640);
    const { matchMs } = given.root.metrics;
    expect(matchMs.count).toBe(10);
    const [half, most] = matchMs.quantiles(0.5, 0.99);
    expect(half).toBeGreaterThanOrEqual(0);
    expect(most).toBeGreaterThanOrEqual(half ?? 0);
  });
});

describe('samples', () => {
  test('quantiles are of the latest thousand', () => {
    const samples = new Samples();
    expect(samples.quantiles(0.5)).toEqual([0]);
    for (let value = 1; value <= 5000; value++) samples.add(value);
    expect(samples.count).toBe(5000);
    expect(samples.quantiles(0, 1)).toEqual([3977, 5000]);
    expect(samples.quantiles(0.5)[0]).toBeCloseTo(4489, -1);
  });
});
