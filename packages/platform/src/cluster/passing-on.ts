import {
  type ClientRequest,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from 'node:http';
import type { BlockList, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { join } from '@muster/base';
import { MusterError } from '../errors.js';
import { errorBody } from '../http/errors.js';
import { headerText } from '../http/header-text.js';
import type { LayerLog } from '../upkeep/logging.js';
import { peerOf, senderOf, trustedNetworks } from './client-address.js';
import { ServerAgent } from './connect.js';
import type { Leader } from './servers.js';
import { type Sender, VOUCHED_HEADER, type Vouching } from './vouching.js';

/** What connections between servers become, besides those of clients. */
export const LINKS = {
  /** One of STOMP, as if the client had connected to the leader. */
  stomp: { protocol: 'muster-stomp', path: '/cluster/stomp' },
  /** What nodes say that are connected to a follower. */
  nodes: { protocol: 'muster-nodes', path: '/cluster/nodes' },
} as const;

/** Of one connection alone (RFC 9110 §7.6.1). */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
  'http2-settings',
]);
/** Seconds after which whoever found no leader may ask again. */
const RETRY_AFTER = 1;

export interface PassingOnDeps {
  readonly vouching: Vouching;
  /** Proxies before this server that are believed about who sent a request. */
  readonly trustedProxies: readonly string[];
  readonly log: LayerLog;
  /** The leader could not be reached, or has no answer: it may be another one by now. */
  readonly doubtful: () => void;
}

/** Passes requests and connections on to the server that leads. Nothing is judged here, and nothing is kept. */
export class PassingOn {
  readonly #deps: PassingOnDeps;
  readonly #trusted: BlockList;
  #to: { readonly leader: Leader; readonly agent: ServerAgent } | null = null;

  constructor(deps: PassingOnDeps) {
    this.#deps = deps;
    this.#trusted = trustedNetworks(deps.trustedProxies);
  }

  get leader(): Leader | null {
    return this.#to?.leader ?? null;
  }

  /** From now on. What is still under way with the former leader is cut off: that does not lead any more, or does not answer. */
  lead(leader: Leader | null): void {
    const now = this.#to?.leader;
    if (now?.incarnation === leader?.incarnation && now?.epoch === leader?.epoch) return;
    this.#to?.agent.destroy();
    this.#to = leader === null ? null : { leader, agent: new ServerAgent(leader) };
  }

  request(request: IncomingMessage, response: ServerResponse): void {
    const upstream = this.#open(request, { ...withoutHops(request.headers) });
    if (upstream === null) return refuse(response);
    upstream.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, withoutHops(answer.headers));
      answer.pipe(response);
      // What is cut off must not look complete.
      answer.on('error', () => response.destroy());
      answer.on('aborted', () => response.destroy());
    });
    upstream.on('error', (error) => {
      this.#failed(error);
      if (response.headersSent) response.destroy();
      else refuse(response);
    });
    response.on('close', () => upstream.destroy());
    request.on('error', () => upstream.destroy());
    request.pipe(upstream);
  }

  /** A WebSocket, or whatever else the leader takes. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { upgrade } = request.headers;
    const upstream = this.#open(request, { ...withoutHops(request.headers), connection: 'upgrade', upgrade });
    socket.on('error', () => upstream?.destroy());
    if (upstream === null) return void socket.end(plainRefusal());
    upstream.on('upgrade', (answer, other, first) => {
      socket.write(headOf(answer));
      if (first.length > 0) socket.write(first);
      if (head.length > 0) other.write(head);
      join(socket, other);
    });
    upstream.on('response', (answer) => {
      socket.write(headOf(answer));
      answer.pipe(socket);
    });
    upstream.on('error', (error) => {
      this.#failed(error);
      if (socket.writable) socket.end(plainRefusal());
    });
    socket.on('close', () => upstream.destroy());
    upstream.end();
  }

  /** A client of the event fabric that has connected here. */
  stomp(socket: Socket): void {
    socket.pause();
    socket.on('error', () => socket.destroy());
    this.#dial('stomp', peerOf(socket)).then(
      (other) => {
        if (socket.destroyed) other.destroy();
        else join(socket, other);
      },
      () => socket.destroy(),
    );
  }

  /** For what nodes say that are connected here. Rejects when nobody leads, or it does not take it. */
  nodes(): Promise<Duplex> {
    return this.#dial('nodes', { address: '127.0.0.1', port: 0, protocol: 'http' });
  }

  stop(): void {
    this.#to?.agent.destroy();
    this.#to = null;
  }

  #open(request: IncomingMessage, headers: OutgoingHttpHeaders): ClientRequest | null {
    const { method = 'GET', url = '/' } = request;
    return this.#begin({ method, url, sender: senderOf(request, this.#trusted), headers });
  }

  #dial(what: keyof typeof LINKS, sender: Sender): Promise<Duplex> {
    const { protocol: upgrade, path: url } = LINKS[what];
    return new Promise((resolve, reject) => {
      const upstream = this.#begin({ method: 'GET', url, sender, headers: { upgrade, connection: 'upgrade' } });
      if (upstream === null) return reject(new MusterError('no_leader'));
      upstream.on('upgrade', (_answer, other, first) => {
        if (first.length > 0) other.unshift(first);
        resolve(other);
      });
      upstream.on('response', ({ statusCode }) => {
        upstream.destroy();
        reject(new Error(`the leader does not take it: status ${statusCode}`));
      });
      upstream.on('error', (error) => {
        this.#failed(error);
        reject(error);
      });
      upstream.end();
    });
  }

  #begin(asked: {
    readonly method: string;
    readonly url: string;
    readonly sender: Sender;
    readonly headers: OutgoingHttpHeaders;
  }): ClientRequest | null {
    if (this.#to === null) return null;
    const { method, url, sender, headers } = asked;
    const { agent, leader } = this.#to;
    const { hostname, port } = new URL(leader.url);
    const vouched = this.#deps.vouching.header(sender, method, url);
    return httpRequest({
      ...{ agent, method, path: url, host: hostname, port },
      headers: { ...headers, [VOUCHED_HEADER]: vouched },
      setHost: headers.host === undefined,
    });
  }

  #failed(error: Error): void {
    this.#deps.log.debug({ err: error }, 'a request could not be passed on');
    this.#deps.doubtful();
  }
}

function withoutHops(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  const kept = Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name) && !named.has(name));
  return Object.fromEntries(kept.filter(([name]) => name !== VOUCHED_HEADER));
}

/** As it was said. Nothing in `rawHeaders` has line ends in it. */
function headOf({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}

function refusal(): { readonly status: number; readonly headers: Record<string, string>; readonly body: string } {
  const error = new MusterError('no_leader');
  const body = JSON.stringify(errorBody(error));
  return {
    status: error.status,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      'retry-after': String(RETRY_AFTER),
      'x-muster-error': error.code,
      'x-muster-fix': headerText(error.fix),
    },
    body,
  };
}

function refuse(response: ServerResponse): void {
  const { status, headers, body } = refusal();
  response.writeHead(status, headers).end(body);
}

function plainRefusal(): string {
  const { status, headers, body } = refusal();
  const lines = Object.entries({ ...headers, connection: 'close' }).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} Service Unavailable`, ...lines, '', body].join('\r\n');
}
