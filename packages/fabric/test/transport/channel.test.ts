import { randomBytes } from 'node:crypto';
import { ManualClock } from '@muster/base';
import { FABRIC_LIMITS } from '@muster/fabric';
import { afterEach, describe, expect, it } from 'vitest';
import { closed, End, SCHEMES, World } from './support.js';

/** More than the systems of both ends take of a peer that does not read. */
const MUCH = Buffer.alloc(64 * 1024 * 1024, 'x');
const world = new World();

afterEach(() => world.end());

describe.each(SCHEMES)('a channel over %s', (scheme) => {
  it('carries bytes both ways, in order and unchanged', async () => {
    const { client, server } = await world.pair(scheme);
    const sent = [randomBytes(1), randomBytes(300_000), randomBytes(70_000)];
    for (const each of sent) client.open.write(each);
    for (const each of sent) server.open.write(each);
    const total = Buffer.concat(sent);
    await server.until((end) => end.bytes === total.length);
    await client.until((end) => end.bytes === total.length);
    expect(Buffer.concat(server.received).equals(total)).toBe(true);
    expect(Buffer.concat(client.received).equals(total)).toBe(true);
  });

  it('knows where its peer is', async () => {
    const { client, server } = await world.pair(scheme);
    expect(client.open.remote).toMatch(/^(127\.0\.0\.1|\[::1\]):\d+$/);
    expect(server.open.remote).toMatch(/^(127\.0\.0\.1|\[::1\]):\d+$/);
  });

  it('that is paused leaves the bytes with the sender, who is told when they are taken', async () => {
    const { client, server } = await world.pair(scheme);
    server.open.pause();
    client.open.write(MUCH);
    client.open.write(Buffer.from('last'));
    expect(client.open.pending).toBeGreaterThan(0);
    server.open.resume();
    await client.until((end) => end.drains > 0);
    expect(client.open.pending).toBe(0);
    await server.until((end) => end.bytes === MUCH.length + 4);
  });

  it('may be paused while it is accepted', async () => {
    const end = new End();
    const { url } = await world.listen(`${scheme}://localhost:0`, (channel) => {
      channel.pause();
      end.channel = channel;
      return end.handlers;
    });
    const client = await world.connect(url);
    client.open.write(Buffer.from('hello'));
    client.open.end();
    expect(end.received).toEqual([]);
    while (end.channel === null) await new Promise(setImmediate);
    end.channel.resume();
    await end.until(closed);
    expect(end.text).toBe('hello');
  });

  it('that is ended sends what was written, and both ends close without an error', async () => {
    // The time it has for that does not pass, however busy the machine.
    const { client, server } = await world.pair(scheme, { clock: new ManualClock() });
    server.open.write(MUCH);
    server.open.end();
    await client.until(closed);
    await server.until(closed);
    expect(client.bytes).toBe(MUCH.length);
    expect([client.closes, server.closes]).toEqual([[null], [null]]);
  });

  it('that is ended hears no more', async () => {
    const { client, server } = await world.pair(scheme);
    server.open.pause();
    client.open.write(Buffer.from('too late'));
    server.open.end();
    await server.until(closed);
    expect(server.received).toEqual([]);
  });

  it('that is ended is cut off when the peer does not take what was written', async () => {
    const clock = new ManualClock();
    const { client, server } = await world.pair(scheme, { clock });
    client.open.pause();
    server.open.write(MUCH);
    server.open.end();
    clock.advance(FABRIC_LIMITS.lingerMs - 1);
    expect(server.open.pending).toBeGreaterThan(0);
    clock.advance(1);
    await server.until(closed);
    expect(server.closes).toEqual([null]);
  });

  it('that is destroyed closes at once, and what was not sent is lost', async () => {
    const { client, server } = await world.pair(scheme);
    client.open.pause();
    server.open.write(MUCH);
    server.open.destroy();
    await server.until(closed);
    client.open.resume();
    await client.until(closed);
    expect(server.closes).toEqual([null]);
    expect(client.closes).toHaveLength(1);
    expect(client.bytes).toBeLessThan(MUCH.length);
  });

  it('does nothing after its end', async () => {
    const { client, server } = await world.pair(scheme);
    client.open.destroy();
    await client.until(closed);
    await server.until(closed);
    for (const end of [client, server]) {
      end.open.write(Buffer.from('x'));
      end.open.pause();
      end.open.resume();
      end.open.end();
      end.open.destroy();
      expect(end.open.pending).toBe(0);
    }
    await new Promise(setImmediate);
    expect([client.closes.length, server.closes.length]).toEqual([1, 1]);
    expect([client.drains, server.drains]).toEqual([0, 0]);
  });

  it('tells nothing to its handlers before they could know the channel', async () => {
    const { url } = await world.listen(`${scheme}://localhost:0`, (channel) => {
      channel.write(Buffer.from('welcome'));
      return new End().handlers;
    });
    const client = new End();
    const early: boolean[] = [];
    const { data } = client.handlers;
    client.handlers.data = (bytes) => {
      early.push(client.channel === null);
      data(bytes);
    };
    await world.connect(url, client);
    await client.until((end) => end.text === 'welcome');
    expect(early).not.toContain(true);
  });
});

describe('a channel over TCP', () => {
  it('that is destroyed resets the connection', async () => {
    const { client, server } = await world.pair('stomp');
    server.open.destroy();
    await client.until(closed);
    expect(client.closes[0]).toMatchObject({ code: 'ECONNRESET' });
  });
});
