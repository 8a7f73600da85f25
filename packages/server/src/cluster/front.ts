import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { CLUSTER_LIMITS, type PassingOn } from '@muster/platform/cluster';
import { parseHostPort } from '@muster/platform/config';
import { createHttpServer, HTTP_LIMITS } from '@muster/platform/http';
import type { Metrics } from '@muster/platform/metrics';
import type { CertificatePair } from '@muster/signing';
import { MusterError } from '../errors.js';

export interface FrontDeps {
  readonly http: { readonly listen: string; readonly tls: CertificatePair | undefined };
  readonly stomp: { readonly listen: string; readonly tls: CertificatePair | undefined };
  readonly passing: PassingOn;
  readonly metrics: Metrics;
  /** What `/_status` answers. */
  readonly status: () => object;
}

/** Where a follower listens: it answers for itself whether it is well, and passes everything else on. */
export class Front {
  readonly #deps: FrontDeps;
  readonly #http: HttpServer;
  readonly #stomp: Server;
  readonly #open = new Map<Socket, Server>();

  private constructor(deps: FrontDeps) {
    const { http, stomp, passing } = deps;
    this.#deps = deps;
    this.#http = createHttpServer((request, response) => this.#answer(request, response), http.tls);
    this.#http.on('upgrade', (request, socket, head) => passing.upgrade(request, socket, head));
    const take = (socket: Socket): void => passing.stomp(socket);
    this.#stomp = stomp.tls === undefined ? createServer(take) : createTlsServer(stomp.tls, take);
    this.#stomp.maxConnections = CLUSTER_LIMITS.passed;
    for (const server of [this.#http, this.#stomp]) {
      server.on('connection', (socket: Socket) => {
        this.#open.set(socket, server);
        socket.on('close', () => this.#open.delete(socket));
      });
    }
  }

  /** @throws MusterError `address_in_use` */
  static async open(deps: FrontDeps): Promise<Front> {
    const front = new Front(deps);
    await listening(front.#http, deps.http.listen);
    try {
      await listening(front.#stomp, deps.stomp.listen);
    } catch (error) {
      await front.close();
      throw error;
    }
    return front;
  }

  get ports(): { readonly http: number; readonly stomp: number } {
    return { http: portOf(this.#http), stomp: portOf(this.#stomp) };
  }

  /** Listens no more; what is passed on at the moment is cut off, as whoever took it is not there any more. */
  async close(): Promise<void> {
    await Promise.all([this.closeStomp(), this.closeHttp()]);
  }

  closeHttp(): Promise<void> {
    return this.#close(this.#http);
  }

  closeStomp(): Promise<void> {
    return this.#close(this.#stomp);
  }

  async #close(server: Server): Promise<void> {
    if (!server.listening) return;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const [socket, of] of this.#open) if (of === server) socket.destroy();
    await closed;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { status, metrics, passing } = this.#deps;
    const [path = ''] = (request.url ?? '').split('?', 1);
    if (request.method === 'GET' && path === '/_status') {
      response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(status()));
    } else if (request.method === 'GET' && path === '/metrics') {
      metrics.registry.metrics().then(
        (text) => response.writeHead(200, { 'content-type': metrics.registry.contentType }).end(text),
        (error: unknown) => response.destroy(error instanceof Error ? error : undefined),
      );
    } else passing.request(request, response);
  }
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

function listening(server: Server, address: string): Promise<void> {
  const parsed = parseHostPort(address);
  if (parsed === null) throw new MusterError('invalid_configuration', { reason: `listen: '${address}'` });
  const { host, port } = parsed;
  return new Promise((resolve, reject) => {
    server.once('error', (cause: Error) =>
      reject(new MusterError('address_in_use', { address, reason: cause.message }, { cause })),
    );
    server.listen({ host: host === '*' ? '::' : host, port, backlog: HTTP_LIMITS.connections }, () => {
      server.removeAllListeners('error');
      // A connection that could not be accepted: others are.
      server.on('error', () => undefined);
      resolve();
    });
  });
}
