import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { MusterError } from '../errors.js';
import { pathOf, routeNotFound } from './path.js';

/** Takes a connection that asks to become one of another protocol. */
export type TakeConnection = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

const taken = new WeakMap<Server, Map<string, TakeConnection>>();

/**
 * Connections of one protocol, in small letters. Who asks for one that nobody takes, as some clients do for HTTP/2 on every
 * first request, is served as if it had not asked.
 */
export function serveUpgrades(server: Server, protocol: string, take: TakeConnection): void {
  const takers = taken.get(server) ?? new Map<string, TakeConnection>();
  takers.set(protocol, take);
  if (taken.has(server)) return;
  taken.set(server, takers);
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const asked = takers.get(request.headers.upgrade?.toLowerCase() ?? '');
    if (asked === undefined) withoutUpgrade(server, request, socket, head);
    else asked(request, socket, head);
  });
}

const webSockets = new WeakMap<Server, { readonly at: Map<string, TakeConnection>; other: TakeConnection }>();

/** WebSockets at one path. */
export function serveWebSockets(server: Server, path: string, take: TakeConnection): void {
  webSocketsOf(server).at.set(path, take);
}

/** WebSockets at all other paths, which are refused otherwise. */
export function serveOtherWebSockets(server: Server, take: TakeConnection): void {
  webSocketsOf(server).other = take;
}

function webSocketsOf(server: Server) {
  const known = webSockets.get(server);
  if (known !== undefined) return known;
  const made = { at: new Map<string, TakeConnection>(), other: nowhere };
  webSockets.set(server, made);
  serveUpgrades(server, 'websocket', (request, socket, head) => {
    (made.at.get(pathOf(request)) ?? made.other)(request, socket, head);
  });
  return made;
}

const nowhere: TakeConnection = (request, socket) => refuse(socket, routeNotFound(request));

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
