import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Answer = (request: Received, response: ServerResponse) => void;

export interface ApiServer {
  readonly url: string;
  readonly received: Received[];
  close(): Promise<void>;
}

/** A real HTTP server whose answers a test writes itself. `routes` are keyed by `METHOD /path`. `tls`: of HTTPS. */
export async function apiServer(
  routes: Readonly<Record<string, Answer>>,
  tls?: { readonly cert: string; readonly key: string },
): Promise<ApiServer> {
  const received: Received[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    let body = '';
    for await (const piece of request) body += piece;
    const url = new URL(request.url ?? '/', 'http://localhost');
    const one = {
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body,
    };
    received.push(one);
    const route = routes[`${one.method} ${one.path}`];
    if (route === undefined) {
      response.writeHead(404, { 'x-muster-error': 'route_not_found', 'x-muster-fix': 'See /docs for the routes.' });
      response.end(JSON.stringify({ error: `no such route: ${one.path}` }));
    } else route(one, response);
  };
  const server = tls === undefined ? createServer(answer) : createTlsServer(tls, answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `${tls === undefined ? 'http://127.0.0.1' : 'https://localhost'}:${(server.address() as AddressInfo).port}`,
    received,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export function json(value: unknown, status = 200): Answer {
  return (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value));
  };
}
