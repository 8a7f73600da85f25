import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { streamed } from '../src/output/pieces.js';

/** Output that is followed, from a server that breaks off. */

const HEAD = 'HTTP/1.1 200 OK\r\nx-mine: yes\r\n\r\n';
/** In a browser nobody need hear of an error: it is closed then. */
class BrowserSocket extends WebSocket {
  constructor(url: string) {
    super(url);
    this.on('error', () => undefined);
  }
}

let server: ReturnType<typeof createServer>;
/** Of each connection in its turn: what it sends, and how it closes; null: it takes no WebSocket. */
let turns: (readonly [texts: readonly string[], code: number] | null)[];
/** Paths that were asked for over WebSockets. */
let asked: string[];
let plain: (request: IncomingMessage, response: ServerResponse) => void;

beforeEach(async () => {
  asked = [];
  plain = (_request, response) => response.writeHead(200, { 'x-muster-complete': 'true' }).end();
  server = createServer((request, response) => plain(request, response));
  const sockets = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request, socket, head) => {
    asked.push(request.url ?? '');
    const turn = turns.shift();
    if (turn === null || turn === undefined) return void socket.end('HTTP/1.1 404 Not Found\r\n\r\n');
    sockets.handleUpgrade(request, socket, head, (made) => {
      for (const text of turn[0]) made.send(Buffer.from(text, 'latin1'));
      if (turn[1] !== 1006) return made.close(turn[1]);
      // Once what it sent has left.
      made.ping('', undefined, () => made.terminate());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ask = fetch;
  vi.stubGlobal('WebSocket', BrowserSocket);
  vi.stubGlobal('location', { origin });
  vi.stubGlobal('fetch', (path: string, init: RequestInit) => ask(origin + path, { ...init, credentials: 'omit' }));
});
afterEach(() => {
  vi.unstubAllGlobals();
  server.closeAllConnections();
  server.close();
});

async function read(): Promise<string> {
  const { bytes } = await streamed('/out', true);
  let text = '';
  for await (const piece of bytes) text += Buffer.from(piece).toString('latin1');
  return text;
}

it('comes whole, wherever messages begin and end', async () => {
  turns = [[[HEAD.slice(0, 20), `${HEAD.slice(20)}one `, 'two'], 1000]];
  expect(await read()).toBe('one two');
  expect(asked).toEqual(['/out?follow=true&from=0']);
});

it('goes on where it broke off', async () => {
  turns = [
    [[`${HEAD}one `], 1006],
    [[`${HEAD}two`], 1000],
  ];
  expect(await read()).toBe('one two');
  expect(asked).toEqual(['/out?follow=true&from=0', '/out?follow=true&from=4']);
});

it('goes on where a server that stopped has ended it', async () => {
  turns = [
    [[`${HEAD}one `], 1000],
    [[`${HEAD}two`], 1000],
  ];
  let looks = 0;
  plain = (_request, response) => {
    // After the first end, before it goes on, and after the second end.
    looks += 1;
    response.writeHead(200, { 'x-muster-complete': String(looks > 2) }).end();
  };
  expect(await read()).toBe('one two');
});

it('does not go on where bytes were left out', async () => {
  turns = [[[`${HEAD}one `], 1006]];
  plain = (_request, response) => response.writeHead(200, { 'x-muster-dropped-bytes': '7' }).end();
  await expect(read()).rejects.toMatchObject({ code: 'output_position_lost' });
});

it('says why it is refused', async () => {
  turns = [[['HTTP/1.1 404 Not Found\r\nx-muster-error: not_found\r\n\r\n{"error":"none"}'], 1000]];
  await expect(read()).rejects.toMatchObject({ status: 404, code: 'not_found', message: 'none' });
});

it('comes without a WebSocket where none is let through', async () => {
  turns = [null];
  plain = ({ url }, response) => {
    response.writeHead(200, { 'x-muster-complete': 'true' });
    response.end(url?.includes('follow=true') === true ? 'one' : '');
  };
  expect(await read()).toBe('one');
});
