import { type IncomingMessage, request } from 'node:http';
import { connect as connectPlain, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { Clock } from '@muster/base';
import type { Asking } from '../asking/asking.js';
import type { Way } from '../asking/orders.js';
import { SYSTEM_LIMITS } from '../limits.js';
import { SystemTrouble } from '../types.js';
import { UPGRADE } from './protocol.js';
import type { AgentReach } from './types.js';
import { WORKER_PATH } from './worker-routes.js';

export interface AskingReachDeps {
  readonly asking: Asking;
  readonly clock: Clock;
}

/** Ways to nodes for a process beside the server: the server opens each connection, and this process comes for it over HTTP. */
export function createAskingReach({ asking, clock }: AskingReachDeps): AgentReach {
  return {
    async open({ orgId, name, node = '', root }) {
      const done = await asking.ask({ msgType: 'SYSTEM_OPEN', orgId, system: name, node, root });
      if (!('way' in done)) throw new Error('a server has answered what it was not asked: is it of another version?');
      const late = new AbortController();
      const timer = clock.after(SYSTEM_LIMITS.connectMs, () => late.abort());
      try {
        return await fetched(done.way, late.signal);
      } catch (error) {
        const [kind, why] = late.signal.aborted
          ? (['CONNECTION_TIMEOUT', `it does not answer in ${SYSTEM_LIMITS.connectMs} ms`] as const)
          : (['CONNECTION_FAILURE', error instanceof Error ? error.message : String(error)] as const);
        const text = `system ${name} is not reached through the server at ${done.way.url} (http.advertise of its settings): ${why}`;
        throw new SystemTrouble(name, kind, text, { cause: error });
      } finally {
        timer.cancel();
      }
    },
  };
}

/** The connection that a ticket is for. @throws Error */
async function fetched({ url, ticket, certificate }: Way, signal: AbortSignal): Promise<Duplex> {
  const at = new URL(`${url.replace(/\/+$/, '')}${WORKER_PATH}`);
  const socket = await connected(at, certificate, signal);
  const stop = (): void => void socket.destroy();
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await upgraded(at, ticket, socket);
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Connected to the server, and to no other: the ticket is sent after this. */
async function connected(at: URL, certificate: string | null, signal: AbortSignal): Promise<Socket> {
  const secure = at.protocol === 'https:';
  const host = at.hostname.replace(/^\[(.*)\]$/, '$1');
  const port = Number(at.port) || (secure ? 443 : 80);
  if (!secure) return opened(connectPlain({ host, port }), 'connect', signal);
  // Judged below: the server may show a certificate of its own, of which its answer has told us.
  const socket = connectTls({ host, port, rejectUnauthorized: false, ...(isName(host) && { servername: host }) });
  await opened(socket, 'secureConnect', signal);
  if (isTrusted(socket, certificate)) return socket;
  socket.destroy();
  throw new Error(`it shows a certificate that is neither its own nor vouched for: ${socket.authorizationError}`);
}

function isTrusted(socket: TLSSocket, certificate: string | null): boolean {
  return socket.authorized || (certificate !== null && socket.getPeerCertificate().fingerprint256 === certificate);
}

const isName = (host: string): boolean => !/^[\d.]+$|:/.test(host);

function opened<T extends Socket>(socket: T, when: 'connect' | 'secureConnect', signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => void socket.destroy(new Error('it took too long'));
    const closed = (): void => reject(new Error('the connection was closed'));
    signal.addEventListener('abort', stop, { once: true });
    // Who uses it later listens for its errors, too; one that nobody hears would end the process.
    socket.on('error', reject);
    socket.once('close', closed);
    socket.once(when, () => {
      signal.removeEventListener('abort', stop);
      socket.off('close', closed);
      resolve(socket);
    });
  });
}

function upgraded(at: URL, ticket: string, socket: Socket): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const headers = {
      host: at.host,
      authorization: `Bearer ${ticket}`,
      accept: 'application/json',
      connection: 'Upgrade',
      upgrade: UPGRADE,
    };
    const call = request({ path: at.pathname, headers, createConnection: () => socket });
    call.once('upgrade', (_, connection: Socket, head) => {
      if (head.length > 0) connection.unshift(head);
      resolve(connection.setNoDelay(true));
    });
    call.once('response', (answer) => reject(new Error(refusal(answer))));
    call.once('error', reject);
    call.once('close', () => reject(new Error('the connection was closed')));
    call.end();
  });
}

function refusal({ statusCode = 0, headers }: IncomingMessage): string {
  if (statusCode === 401) return 'it does not know the ticket any more';
  const proxy = statusCode === 200 ? ': a proxy before it must let `Upgrade: muster-system` pass' : '';
  return `status ${statusCode} ${headers['x-muster-error'] ?? ''}`.trimEnd() + proxy;
}
