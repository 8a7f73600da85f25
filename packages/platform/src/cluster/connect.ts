import { X509Certificate } from 'node:crypto';
import { Agent, type AgentOptions } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { CLUSTER_LIMITS } from './limits.js';
import type { Leader } from './servers.js';

type Done = (error: Error | null, socket: Duplex) => void;

/** Where a server of the cluster is, and by which certificate it is known there. */
export type Place = Pick<Leader, 'certificate' | 'url'>;

/**
 * Connections to one server of the cluster. Its certificate is the one that it has written into the database, whoever signed it and for
 * whatever name: only servers of the cluster can write there.
 */
export class ServerAgent extends Agent {
  readonly #place: Place;

  constructor(place: Place, options: AgentOptions = {}) {
    super({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, ...options });
    this.#place = place;
  }

  override createConnection(_options: object, done?: Done): Duplex {
    const { url, certificate } = this.#place;
    const { hostname, port, protocol } = new URL(url);
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    const at = { host, port: Number(port === '' ? (protocol === 'https:' ? 443 : 80) : port) };
    if (certificate === null) return bounded(connect(at), 'connect', done);
    const expected = new X509Certificate(certificate).raw;
    // Compared below, before anything is sent.
    const socket = connectTls({ ...at, rejectUnauthorized: false });
    return bounded(socket, 'secureConnect', done, () => socket.getPeerX509Certificate()?.raw.equals(expected) === true);
  }
}

/** Told once it stands, and is who it should be; or why not. */
function bounded(socket: Socket, ready: string, done: Done | undefined, right: () => boolean = () => true): Duplex {
  const refuse = (error: Error): void => {
    socket.destroy();
    done?.(error, socket);
    done = undefined;
  };
  const timer = setTimeout(
    () => refuse(new Error('the leader does not take the connection')),
    CLUSTER_LIMITS.connectMs,
  );
  socket.once('error', (error) => {
    clearTimeout(timer);
    refuse(error);
  });
  socket.once(ready, () => {
    clearTimeout(timer);
    if (!right()) return refuse(new Error('the leader shows another certificate than it has told of'));
    socket.setNoDelay(true);
    done?.(null, socket);
    done = undefined;
  });
  // Taken over by the agent when it is told.
  return undefined as unknown as Duplex;
}
