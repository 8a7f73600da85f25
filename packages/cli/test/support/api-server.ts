import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
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

/** A real HTTP server whose answers a test writes itself. `routes` are keyed by `METHOD /path`. */
export async function apiServer(routes: Readonly<Record<string, Answer>>): Promise<ApiServer> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
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
    const answer = routes[`${one.method} ${one.path}`];
    if (answer === undefined) {
      response.writeHead(404, { 'x-muster-error': 'route_not_found', 'x-muster-fix': 'See /docs for the routes.' });
      response.end(JSON.stringify({ error: `no such route: ${one.path}` }));
    } else answer(one, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
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
