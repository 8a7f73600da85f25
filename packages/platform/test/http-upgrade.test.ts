import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { serveWebSockets } from '../src/http/upgrade.js';
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from './support/tls.js';

let server: Server | undefined;
afterEach(() => {
  server?.close();
  server?.closeAllConnections();
});

const taken: string[] = [];

/** Answers what it was asked. */
async function start(made: Server): Promise<number> {
  server = made;
  made.on('request', async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { upgrade, connection } = request.headers;
    response.end(
      JSON.stringify({ url: request.url, body, wish: [upgrade, connection], mine: request.headers['x-mine'] }),
    );
  });
  serveWebSockets(made, '/stomp', (request, socket) => {
    taken.push(request.url ?? '');
    socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n');
  });
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  return (made.address() as AddressInfo).port;
}

/** Everything that the server says to these bytes until it closes. */
function say(port: number, pieces: readonly string[], tls = false): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = tls
      ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
      : connect({ port, host: '127.0.0.1' });
    let heard = '';
    socket.on('data', (bytes) => {
      heard += bytes.toString();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(heard));
    socket.write(pieces[0] ?? '');
    const [, ...rest] = pieces;
    const next = () => {
      const piece = rest.shift();
      if (piece === undefined) return;
      socket.write(piece);
      setImmediate(next);
    };
    setImmediate(next);
  });
}

const lines = (...all: readonly string[]) => `${all.join('\r\n')}\r\n\r\n`;
const H2C = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQ'];
const LAST = lines('GET /last HTTP/1.1', 'Host: x', 'Connection: close');

describe('who wishes for another protocol than WebSocket', () => {
  it('is answered as if it had not, and the connection goes on', async () => {
    const port = await start(createServer());
    const heard = await say(port, [lines('GET /one HTTP/1.1', 'Host: x', 'X-Mine: 1', ...H2C), LAST]);
    expect(heard).toContain('{"url":"/one","body":"","wish":[null,null],"mine":"1"}');
    expect(heard).toContain('{"url":"/last"');
  });

  it.each([
    ['in one piece', ['first and second'], ''],
    ['in pieces', ['first', ' and ', 'second'], ''],
  ])('may send a body, %s', async (_how, body) => {
    const port = await start(createServer());
    const head = lines('POST /two HTTP/1.1', 'Host: x', `Content-Length: ${body.join('').length}`, ...H2C);
    const heard = await say(port, [head + (body[0] ?? ''), ...body.slice(1), LAST]);
    expect(heard).toContain('{"url":"/two","body":"first and second"');
    expect(heard).toContain('{"url":"/last"');
  });

  it('may do so over TLS', async () => {
    const port = await start(createTlsServer({ cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY }));
    const heard = await say(port, [lines('GET /three HTTP/1.1', 'Host: x', ...H2C), LAST], true);
    expect(heard).toContain('{"url":"/three"');
    expect(heard).toContain('{"url":"/last"');
  });
});

describe('a WebSocket', () => {
  const wish = (path: string) => lines(`GET ${path} HTTP/1.1`, 'Host: x', 'Connection: Upgrade', 'Upgrade: WebSocket');

  it('is taken at its path', async () => {
    const port = await start(createServer());
    expect(await say(port, [wish('/stomp?x=1')])).toContain('101 Switching');
    expect(taken).toEqual(['/stomp?x=1']);
  });

  it('is refused elsewhere', async () => {
    const port = await start(createServer());
    const heard = await say(port, [wish('/elsewhere')]);
    expect(heard).toMatch(/^HTTP\/1.1 404 .*\r\n/);
    expect(heard).toContain('{"error":"no such route: /elsewhere"}');
  });
});
