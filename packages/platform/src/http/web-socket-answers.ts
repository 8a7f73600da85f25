import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '@muster/base';
import type { FastifyRequest } from 'fastify';
import { createWebSocketStream, WebSocketServer } from 'ws';
import { MusterError } from '../errors.js';
import { HTTP_LIMITS } from './limits.js';
import type { App } from './route.js';
import { serveOtherWebSockets } from './upgrade.js';

/** Closed with it, an answer was ended by the server; otherwise it broke off. */
const WHOLE = 1000;

/**
 * Browsers have six connections of HTTP/1.1 to one server, in all their tabs together, and hundreds of WebSockets. So an answer that goes on
 * for long comes over a WebSocket where it is asked for over one: as HTTP/1.1 would send it, head first, in messages whose limits mean nothing.
 * Who asks is judged as for any request, after the handshake, since scripts do not learn why one is refused.
 */
export function answerWebSockets(app: App, clock: Clock): void {
  // Nothing is said on it after the request.
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: HTTP_LIMITS.webSocketRequestBytes,
    perMessageDeflate: false,
  });
  app.addHook('onRequest', async (request) => {
    if (!asksForWebSocket(request) || request.routeOptions.config.goesOn === true) return;
    throw new MusterError('route_not_found', { path: pathOf(request.raw) });
  });
  serveOtherWebSockets(app.server, (request, socket, head) => {
    server.handleUpgrade(request, socket, head, (webSocket) => {
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
      webSocket.on('close', () => stream.destroy());
      answer.once('finish', () => {
        webSocket.close(WHOLE);
        // Nobody is waited for who does not say that it has heard the end.
        const gone = clock.after(HTTP_LIMITS.webSocketCloseMs, () => webSocket.terminate());
        webSocket.once('close', () => gone.cancel());
      });
      app.server.emit('request', request, answer);
    });
  });
}

export function asksForWebSocket({ raw }: Pick<FastifyRequest, 'raw'>): boolean {
  return raw.headers.upgrade?.toLowerCase() === 'websocket';
}

function pathOf({ url = '' }: IncomingMessage): string {
  return (url.split('?', 1)[0] ?? '').slice(0, HTTP_LIMITS.echoedCharacters);
}
