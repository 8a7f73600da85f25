import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MusterError } from '../../errors.js';

/** A TCP address, or the path of a Unix socket. */
export type StatusAddress = { readonly host: string; readonly port: number } | { readonly path: string };

export interface StatusServer {
  /** `http://127.0.0.1:61614`, or the path of the Unix socket. */
  readonly url: string;
  close(): Promise<void>;
}

/** What is shown under one path. */
export interface StatusPage {
  readonly type: string;
  readonly text: string;
}

const CONNECTIONS = 64;
const REQUEST_MS = 5000;

/**
 * A small HTTP server for status and metrics, read only. `pages` maps a path to what is shown there; a page that
 * cannot be made answers 500 with why.
 * Rejects with `address_in_use`.
 */
export async function serveStatus(
  address: StatusAddress,
  pages: Readonly<Record<string, () => Promise<StatusPage>>>,
): Promise<StatusServer> {
  const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }, (request, response) => {
    const answer = (status: number, { type, text }: StatusPage) => {
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' });
      response.end(request.method === 'HEAD' ? undefined : text);
    };
    const plainly = (status: number, text: string) => answer(status, { type: 'text/plain; charset=utf-8', text });
    if (request.method !== 'GET' && request.method !== 'HEAD') return plainly(405, 'only GET\n');
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
    if (page === undefined) return plainly(404, `one of: ${Object.keys(pages).join(' ')}\n`);
    page().then(
      (made) => answer(200, made),
      (error: unknown) => plainly(500, `${error instanceof Error ? error.message : String(error)}\n`),
    );
  });
  server.maxConnections = CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      const place = 'path' in address ? address.path : `${address.host}:${address.port}`;
      reject(new MusterError('address_in_use', { address: place, reason: error.message }, { cause: error }));
    });
    // Every process its own, also where several share the port for clients.
    server.listen({ ...address, exclusive: true }, resolve);
  });
  return {
    url: urlOf(server.address()),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function urlOf(address: AddressInfo | string | null): string {
  if (typeof address === 'string') return address;
  if (address === null) return '';
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}
