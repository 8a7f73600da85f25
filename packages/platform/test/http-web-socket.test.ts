import { once } from 'node:events';
import { Readable } from 'node:stream';
import { ManualClock } from '@muster/base';
import { fastify } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { HTTP_LIMITS } from '../src/http/limits.js';
import type { App } from '../src/http/route.js';
import { answerWebSockets } from '../src/http/web-socket-answers.js';

/** Answers that come over a WebSocket, as HTTP would send them. */

let app: App;
let clock: ManualClock;
let url: string;
/** What the route under test sends. */
let answer: Readable;
/** Breaks it off. */
let destroy: () => void;
let left: Promise<unknown>;

beforeEach(async () => {
  clock = new ManualClock();
  app = fastify({ forceCloseConnections: true });
  answerWebSockets(app, clock);
  app.get('/output', { config: { goesOn: true } }, (_request, reply) => {
    reply.hijack();
    destroy = () => reply.raw.destroy();
    left = once(reply.raw, 'close');
    reply.raw.writeHead(200, { 'content-type': 'application/octet-stream', 'x-mine': 'yes' });
    reply.raw.flushHeaders();
    answer.pipe(reply.raw);
  });
  app.get('/refused', { config: { goesOn: true } }, async (_request, reply) => reply.code(403).send({ error: 'no' }));
  app.get('/list', async () => []);
  url = (await app.listen({ host: '127.0.0.1', port: 0 })).replace('http', 'ws');
});
afterEach(() => app.close());

/** All that came, and how it ended. */
async function asked(path: string, hear: (socket: WebSocket, text: string) => void = () => undefined) {
  const socket = new WebSocket(url + path);
  let text = '';
  socket.on('message', (data: Buffer) => {
    text += data.toString('latin1');
    hear(socket, text);
  });
  const [code] = await once(socket, 'close');
  const [head = '', body = ''] = text.split('\r\n\r\n');
  return { code, head, body };
}

describe('an answer over a WebSocket', () => {
  it('is what HTTP sends, and closed in good order at its end', async () => {
    answer = Readable.from(['one ', 'two']);
    const { code, head, body } = await asked('/output');
    expect([code, body]).toEqual([1000, 'one two']);
    expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(head).toMatch(/\r\nx-mine: yes/i);
    expect(head).not.toMatch(/transfer-encoding/i);
  });

  it('comes as it is written', async () => {
    answer = new Readable({ read: () => undefined });
    const { code, body } = await asked('/output', (_socket, text) => {
      if (text.endsWith('\r\n\r\n')) answer.push('one');
      if (text.endsWith('one')) answer.push(null);
    });
    expect([code, body]).toEqual([1000, 'one']);
  });

  it('is a refusal where one is refused', async () => {
    const { code, head, body } = await asked('/refused');
    expect([code, body]).toEqual([1000, '{"error":"no"}']);
    expect(head).toMatch(/^HTTP\/1\.1 403 /);
  });

  it('breaks off without an end when it is broken off', async () => {
    answer = new Readable({ read: () => undefined });
    const { code } = await asked('/output', () => destroy());
    expect(code).toBe(1006);
  });

  it('is written no more to who has left', async () => {
    answer = new Readable({ read: () => undefined });
    await asked('/output', (socket) => socket.terminate());
    await left;
  });

  it('waits for a reader that does not keep up', async () => {
    const piece = Buffer.alloc(64 * 1024);
    let read = 0;
    answer = new Readable({
      highWaterMark: piece.length,
      read() {
        read += 1;
        this.push(read <= 2000 ? piece : null);
      },
    });
    const socket = new WebSocket(`${url}/output`);
    await once(socket, 'open');
    socket.pause();
    let before = -1;
    await expect
      .poll(() => {
        const stands = read > 0 && read === before;
        before = read;
        return stands;
      })
      .toBe(true);
    expect(read).toBeLessThan(2000);
    let bytes = 0;
    socket.on('message', (data: Buffer) => {
      bytes += data.length;
    });
    socket.resume();
    const [code] = await once(socket, 'close');
    expect(code).toBe(1000);
    expect(bytes).toBeGreaterThanOrEqual(2000 * piece.length);
  });

  it('is ended for who does not say that it has heard the end', async () => {
    answer = Readable.from(['one']);
    const socket = new WebSocket(`${url}/output`);
    await once(socket, 'message');
    socket.pause();
    await left;
    socket.terminate();
  });

  it.each([
    ['anything', 1, 1008],
    ['too much', HTTP_LIMITS.webSocketRequestBytes + 1, 1009],
  ])('has nothing said to it: %s', async (_what, bytes, expected) => {
    answer = new Readable({ read: () => undefined });
    const { code } = await asked('/output', (socket) => socket.send(Buffer.alloc(bytes)));
    expect(code).toBe(expected);
    await left;
  });

  it('does not hold a server that stops, though its reader reads nothing', async () => {
    const piece = Buffer.alloc(64 * 1024);
    answer = new Readable({
      read() {
        this.push(piece);
      },
    });
    const socket = new WebSocket(`${url}/output`);
    await once(socket, 'message');
    socket.pause();
    const closed = app.close();
    await expect.poll(() => clock.pending).toBe(1);
    clock.advance(HTTP_LIMITS.webSocketCloseMs);
    await closed;
    await left;
    socket.terminate();
  });

  it.each(['/list', '/nowhere'])('is none at %s, which does not go on', async (path) => {
    const { head } = await asked(path);
    expect(head).toMatch(/^HTTP\/1\.1 404 /);
  });
});
