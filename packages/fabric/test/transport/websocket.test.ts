import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { listenForChannels, webSocketUpgrade } from '@muster/fabric';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { closed, End, World } from './support.js';

const world = new World();

afterEach(() => world.end());

async function served(options: Parameters<World['listen']>[2] = {}, path = '') {
  const server = new End();
  const { url } = await world.listen(
    `ws://127.0.0.1:0${path}`,
    (channel) => {
      server.channel = channel;
      return server.handlers;
    },
    options,
  );
  return { server, url };
}

/** A WebSocket client that is not ours. */
async function dial(url: string, protocols: string[] = [], options = {}): Promise<WebSocket> {
  const webSocket = new WebSocket(url, protocols, options);
  world.defer(() => webSocket.terminate());
  await new Promise((resolve, reject) => webSocket.once('open', resolve).once('error', reject));
  return webSocket;
}

describe('a WebSocket', () => {
  it.each([
    [['v10.stomp', 'v11.stomp', 'v12.stomp'], 'v12.stomp'],
    [['v11.stomp', 'v10.stomp'], 'v11.stomp'],
    [['other', 'v10.stomp'], 'v10.stomp'],
    [[], ''],
  ])('that offers %j speaks %j', async (offered, chosen) => {
    const { url } = await served();
    expect((await dial(url, offered)).protocol).toBe(chosen);
  });

  it('may send text and binary messages, and gets binary ones', async () => {
    const { server, url } = await served();
    const client = await dial(url, ['v12.stomp']);
    client.send('text ä,');
    client.send(Buffer.from('binary'));
    await server.until((end) => end.text === 'text ä,binary');
    const got = new Promise((resolve) => client.once('message', (data, binary) => resolve([String(data), binary])));
    server.open.write(Buffer.from('answer'));
    expect(await got).toEqual(['answer', true]);
  });

  it('is not compressed, even when the client offers it', async () => {
    const { url } = await served();
    expect((await dial(url, [], { perMessageDeflate: true })).extensions).toBe('');
  });

  it('may send a message of the limit, and is closed at one byte more', async () => {
    const { server, url } = await served({ maxMessageBytes: 1000 });
    const client = await dial(url);
    client.send(Buffer.alloc(1000));
    await server.until((end) => end.bytes === 1000);
    const code = new Promise((resolve) => client.once('close', resolve));
    client.send(Buffer.alloc(1001));
    expect(await code).toBe(1009);
    await server.until(closed);
    expect(server.bytes).toBe(1000);
    expect(server.closes[0]?.message).toContain('Max payload size exceeded');
  });

  it('with a broken frame is closed, and others are not disturbed', async () => {
    const { server, url } = await served();
    const sound = await dial(url);
    const soundEnd = server.channel;
    const broken = await dial(url);
    const gone = new Promise((resolve) => broken.once('close', resolve));
    // Reserved bits that mean nothing.
    (broken as unknown as { _socket: { write(data: Buffer): void } })._socket.write(Buffer.from([0xff, 0xff, 0xff]));
    await gone;
    const got = new Promise((resolve) => sound.once('message', resolve));
    soundEnd?.write(Buffer.from('well'));
    expect(String(await got)).toBe('well');
  });

  it('is not found by many who are gone before they are told, and others go on', async () => {
    const { url } = await served({}, '/events');
    const { port } = new URL(url);
    for (let asked = 0; asked < 20; asked++) {
      const socket = connect(Number(port), '127.0.0.1');
      await once(socket, 'connect');
      socket.write(
        [
          'GET /other HTTP/1.1',
          'Host: localhost',
          'Connection: Upgrade',
          'Upgrade: websocket',
          'Sec-WebSocket-Version: 13',
          'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
          '\r\n',
        ].join('\r\n'),
      );
      socket.resetAndDestroy();
    }
    expect((await dial(url, ['v12.stomp'])).protocol).toBe('v12.stomp');
  });

  it('has its path; others are not found', async () => {
    const { url } = await served({}, '/events');
    expect(url).toMatch(/\/events$/);
    await dial(`${url}?token=1`);
    await expect(dial(url.replace('/events', '/other'))).rejects.toThrow('404');
  });

  it('is what a plain request is told to become', async () => {
    const { url } = await served();
    const response = await fetch(url.replace('ws:', 'http:'));
    expect(response.status).toBe(426);
    expect(response.headers.get('upgrade')).toBe('websocket');
    await response.text();
  });

  it('is taken over from any HTTP server', async () => {
    const server = new End();
    const upgrade = webSocketUpgrade();
    const http = createServer((_, response) => response.end('a page'));
    http.on('upgrade', (request, socket, head) =>
      upgrade(request, socket, head, (channel) => {
        server.channel = channel;
        return server.handlers;
      }),
    );
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    world.defer(() => http.close());
    const address = http.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const client = await world.connect(`ws://127.0.0.1:${port}/any`);
    client.open.write(Buffer.from('hello'));
    await server.until((end) => end.text === 'hello');
    server.open.write(Buffer.from('welcome'));
    await client.until((end) => end.text === 'welcome');
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('a page');
  });

  it('that is refused by the server says so', async () => {
    const http = createServer();
    http.on('upgrade', (_, socket) => socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n'));
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    world.defer(() => http.close());
    const address = http.address();
    const port = typeof address === 'object' ? address?.port : 0;
    await expect(world.connect(`ws://127.0.0.1:${port}`)).rejects.toThrow('Unexpected server response: 403');
  });
});

describe('a WebSocket server that ends', () => {
  it('says so in the WebSocket way', async () => {
    const { server, url } = await served();
    const client = await dial(url);
    const code = new Promise((resolve) => client.once('close', resolve));
    while (server.channel === null) await new Promise(setImmediate);
    server.channel.end();
    expect(await code).toBe(1000);
  });
});

it('a path is only for WebSockets', async () => {
  await expect(listenForChannels('stomp://127.0.0.1:0/events', {}, () => new End().handlers)).rejects.toThrow(
    'only WebSockets have a path',
  );
});
