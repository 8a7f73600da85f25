import { header } from '@muster/fabric';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RawClient } from '../support/raw-client.js';
import { RootFixture } from '../support/root-fixture.js';

const OUTBOUND_BYTES = 1024 * 1024;
const BODY = 'x'.repeat(4000);

let given: RootFixture;
beforeEach(async () => {
  given = await RootFixture.start({ outboundBytes: OUTBOUND_BYTES });
});
afterEach(() => given.end());

/** Publishes until that holds, never more than fits into the log's queue. @returns how many. */
async function flood(publisher: RawClient, holds: () => boolean): Promise<number> {
  let count = 0;
  while (!holds()) {
    for (let n = 0; n < 50; n++) publisher.publish('flood', [['n', String(count++)]], BODY);
    await publisher.barrier();
  }
  await publisher.ask('SEND', [
    ['destination', '/topic/events'],
    ['type', 'last'],
    ['n', String(count++)],
  ]);
  return count;
}

describe('a client that reads too slowly (F5, O-7)', () => {
  test('is disconnected with an ERROR that says so; fast ones get everything (18)', async () => {
    const [slow, fast, publisher] = await Promise.all([given.client(), given.client(), given.client()]);
    await slow.subscribe('1');
    await fast.subscribe('1');
    slow.socket.pause();
    const count = await flood(publisher, () => given.root.metrics.slowDisconnects > 0);
    const messages = await fast.messages(count);
    expect(messages.map((message) => Number(header(message, 'n')))).toEqual([...Array(count).keys()]);
    slow.socket.resume();
    expect(header(await slow.error(), 'code')).toBe('event_slow_client');
    const numbers = slow.frames.slice(0, -1).map((message) => Number(header(message, 'n')));
    expect(numbers).toEqual([...Array(numbers.length).keys()]);
    expect(given.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    expect(given.root.metrics.slowDisconnects).toBe(1);
  });

  test('loses the newest events if it wants that, and is told how many and where', async () => {
    const [slow, publisher] = await Promise.all([given.client(), given.client()]);
    await slow.subscribe('1', '', [['slow', 'drop-newest']]);
    slow.socket.pause();
    await flood(publisher, () => given.root.metrics.dropped > 100);
    const { dropped } = given.root.metrics;
    slow.socket.resume();
    await slow.until(() => slow.frames.some((each) => header(each, 'type') === 'fabric.dropped'));
    const at = slow.frames.findIndex((each) => header(each, 'type') === 'fabric.dropped');
    const numbers = slow.frames.slice(0, at).map((message) => Number(header(message, 'n')));
    expect(numbers).toEqual([...Array(numbers.length).keys()]);
    expect(Number(header(slow.frames[at] ?? { headers: [] }, 'dropped'))).toBe(dropped);
    slow.frames.length = 0;
    publisher.publish('after');
    const [message] = await slow.messages(1);
    expect(message && header(message, 'type')).toBe('after');
  });

  test('loses the oldest events if it wants that, and every event is delivered or counted once', async () => {
    const [slow, publisher] = await Promise.all([given.client(), given.client()]);
    await slow.subscribe('1', '', [['slow', 'drop-oldest']]);
    slow.socket.pause();
    const count = await flood(publisher, () => given.root.metrics.dropped > 100);
    slow.socket.resume();
    await slow.until(() => slow.frames.some((each) => header(each, 'type') === 'last'));
    let next = 0;
    for (const message of slow.frames) {
      const dropped = header(message, 'dropped');
      if (dropped !== undefined) next += Number(dropped);
      else expect(Number(header(message, 'n'))).toBe(next++);
    }
    expect(next).toBe(count);
    expect(given.root.metrics.slowDisconnects).toBe(0);
  });

  test('what waits for it is bounded and reported', async () => {
    const [slow, publisher] = await Promise.all([given.client('default/slow'), given.client()]);
    await slow.subscribe('1', '', [['slow', 'drop-oldest']]);
    slow.socket.pause();
    await flood(publisher, () => given.root.metrics.dropped > 100);
    const status = given.root.clients().find(({ principal }) => principal === 'default/slow');
    expect(status?.queuedBytes).toBeGreaterThan(OUTBOUND_BYTES / 2);
    expect(status?.queuedBytes).toBeLessThanOrEqual(OUTBOUND_BYTES);
  });

  test('that vanishes in the middle of a write disturbs nobody (9)', async () => {
    const [gone, stays, publisher] = await Promise.all([given.client(), given.client(), given.client()]);
    await gone.subscribe('1');
    await stays.subscribe('1');
    gone.socket.pause();
    const events = 100;
    for (let n = 0; n < events; n++) publisher.publish('a', [['n', String(n)]], BODY);
    gone.socket.resetAndDestroy();
    expect(await stays.messages(events)).toHaveLength(events);
    await given.until(() => given.root.clients().length === 2);
  });
});
