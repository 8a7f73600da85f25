import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '@muster/base';
import type { FastifyRequest } from 'fastify';
import { createWebSocketStream, type WebSocket, WebSocketServer } from 'ws';
import { HTTP_LIMITS } from './limits.js';
import { routeNotFound } from './path.js';
import type { App } from './route.js';
import { serveOtherWebSockets } from './upgrade.js';

/** Closed with it, an answer was ended by the server; otherwise it broke off. */
const WHOLE = 1000;
/** Nothing is to be said to it. */
const SPOKEN_TO = 1008;

/** A constant of its own, as the types of `ws` do not know `closeTimeout` yet. */
const OPTIONS = {
  noServer: true,
  clientTracking: false,
  maxPayload: HTTP_LIMITS.webSocketRequestBytes,
  perMessageDeflate: false,
  // Nobody is waited for who does not say that it has heard the end.
  closeTimeout: HTTP_LIMITS.webSocketCloseMs,
};

/** Requests that have become a WebSocket. */
const upgraded = new WeakSet<IncomingMessage>();

/**
 * Browsers have six connections of HTTP/1.1 to one server, in all their tabs together, and hundreds of WebSockets. So an answer that goes on
 * for long comes over a WebSocket where it is asked for over one: as HTTP/1.1 would send it, head first, in messages whose limits mean nothing.
 * Who asks is judged as for any request, after the handshake, since scripts do not learn why one is refused.
 */
export function answerWebSockets(app: App, clock: Clock): void {
  const open = new Set<WebSocket>();
  const server = new WebSocketServer(OPTIONS);
  app.addHook('onRequest', async (request) => {
    if (!cameByWebSocket(request) || request.routeOptions.config.goesOn === true) return;
    throw routeNotFound(request.raw);
  });
  // A server that closes waits for all connections, and does not know these: who reads nothing must not hold it.
  app.addHook('preClose', async () => {
    const gone = clock.after(HTTP_LIMITS.webSocketCloseMs, () => {
      for (const webSocket of open) webSocket.terminate();
    });
    app.server.once('close', () => gone.cancel());
  });
  serveOtherWebSockets(app.server, (request, socket, head) => {
    server.handleUpgrade(request, socket, head, (webSocket) => {
      upgraded.add(request);
      open.add(webSocket);
      const answer = new ServerResponse(request);
      // The WebSocket tells where the answer ends.
      answer.useChunkedEncodingByDefault = false;
      answer.shouldKeepAlive = false;
      const stream = createWebSocketStream(webSocket);
      answer.assignSocket(stream as unknown as Parameters<ServerResponse['assignSocket']>[0]);
      stream.on('drain', () => answer.emit('drain'));
      // Its end tells all that is to be known of it.
      stream.on('error', () => undefined);
      stream.resume();
      webSocket.on('message', () => webSocket.close(SPOKEN_TO));
      webSocket.on('close', () => {
        open.delete(webSocket);
        stream.destroy();
      });
      answer.once('finish', () => webSocket.close(WHOLE));
      app.server.emit('request', request, answer);
    });
  });
}

export function cameByWebSocket({ raw }: Pick<FastifyRequest, 'raw'>): boolean {
  return upgraded.has(raw);
}
