import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { MusterError } from '../errors.js';
import { HTTP_LIMITS } from './limits.js';

/** Takes a connection that asks to become a WebSocket. */
export type TakeWebSocket = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/**
 * WebSockets at one path. Who asks for another protocol, as some clients do for HTTP/2 on every first request, is
 * served as if it had not asked.
 */
export function serveWebSockets(server: Server, path: string, take: TakeWebSocket): void {
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (request.headers.upgrade?.toLowerCase() !== 'websocket') return withoutUpgrade(server, request, socket, head);
    const [asked = ''] = (request.url ?? '').split('?', 1);
    if (asked === path) take(request, socket, head);
    else refuse(socket, new MusterError('route_not_found', { path: asked.slice(0, HTTP_LIMITS.echoedCharacters) }));
  });
}

/** The parser has let go of the connection; it begins anew with the same request, but for the wish. */
function withoutUpgrade(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`];
  const { rawHeaders } = request;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (!/^(upgrade|connection|http2-settings)$/i.test(name)) lines.push(`${name}: ${rawHeaders[at + 1]}`);
  }
  // Nothing that is in `rawHeaders` has line ends in it.
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  server.emit(socket instanceof TLSSocket ? 'secureConnection' : 'connection', socket);
}

function refuse(socket: Duplex, error: MusterError): void {
  const body = JSON.stringify({ error: error.message });
  socket.on('error', () => socket.destroy());
  socket.end(
    [
      `HTTP/1.1 ${error.status} Refused`,
      'Connection: close',
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Muster-Error: ${error.code}`,
      '',
      body,
    ].join('\r\n'),
  );
}
