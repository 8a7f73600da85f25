import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Duplex } from 'node:stream';
import { systemClock } from '@muster/base/clock';
import { WebSocket, WebSocketServer } from 'ws';
import { FABRIC_LIMITS } from '../limits.js';
import { type Address, formatAddress } from './address.js';
import type { Accept, Channel, ChannelHandlers } from './channel.js';
import { attempt } from './connect-attempt.js';
import type { ConnectOptions, ListenOptions } from './options.js';
import { StreamChannel } from './stream-channel.js';
import { tlsOptions } from './tcp.js';
import { SUBPROTOCOLS, WebSocketStream } from './websocket-stream.js';

/** Takes requests to become a WebSocket, which any HTTP server may pass to it. */
export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer, accept: Accept) => void;

/**
 * Who may connect is decided by the login that STOMP brings, never by cookies: a page of another site gains nothing by
 * connecting, and the Origin need not be looked at.
 */
export function webSocketUpgrade(options: Pick<ListenOptions, 'maxMessageBytes' | 'clock'> = {}): Upgrade {
  const { clock = systemClock, maxMessageBytes = FABRIC_LIMITS.webSocketMessageBytes } = options;
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: maxMessageBytes,
    perMessageDeflate: false,
    handleProtocols: (offered) => SUBPROTOCOLS.find((known) => offered.has(known)) ?? false,
  });
  return (request, socket, head, accept) =>
    server.handleUpgrade(request, socket, head, (webSocket) => {
      const channel = new StreamChannel(
        new WebSocketStream(webSocket, socket, FABRIC_LIMITS.webSocketServerMessageBytes),
        clock,
      );
      channel.attach(accept(channel));
    });
}

export function createWebSocketServer(path: string, options: ListenOptions, accept: Accept): Server {
  const { tls } = options;
  const timeouts = { headersTimeout: FABRIC_LIMITS.connectMs, requestTimeout: FABRIC_LIMITS.connectMs };
  const server =
    tls === undefined
      ? createServer(timeouts, upgradeOnly)
      : createTlsServer({ ...timeouts, ...tls, handshakeTimeout: FABRIC_LIMITS.connectMs }, upgradeOnly);
  const upgrade = webSocketUpgrade(options);
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (path === '' || path === '/' || request.url?.split('?')[0] === path) {
      upgrade(request, socket, head, accept);
      return;
    }
    // Nobody else listens to it any more, and whoever asked may be gone.
    socket.on('error', () => socket.destroy());
    socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
  });
  return server;
}

const upgradeOnly: RequestListener = (_, response) => {
  response.writeHead(426, { connection: 'close', upgrade: 'websocket', 'content-type': 'text/plain' });
  response.end('This is STOMP over WebSocket.\n');
};

/** @throws MusterError `fabric_unreachable` */
export function connectWebSocket(
  address: Address,
  options: ConnectOptions,
  handlers: ChannelHandlers,
): Promise<Channel> {
  const { clock = systemClock } = options;
  return attempt(address, options, (done, failed) => {
    const webSocket = new WebSocket(formatAddress(address), [...SUBPROTOCOLS], {
      perMessageDeflate: false,
      maxPayload: FABRIC_LIMITS.webSocketServerMessageBytes,
      ...tlsOptions(address.host, options),
    });
    let socket: Duplex | null = null;
    webSocket.once('upgrade', (response) => {
      socket = response.socket;
    });
    webSocket.on('error', failed);
    webSocket.once('open', () => {
      if (socket === null) throw new Error('a WebSocket opened without a connection');
      webSocket.off('error', failed);
      const channel = new StreamChannel(
        new WebSocketStream(webSocket, socket, FABRIC_LIMITS.webSocketMessageBytes),
        clock,
      );
      done(channel);
      setImmediate(() => channel.attach(handlers));
    });
    return () => webSocket.terminate();
  });
}
