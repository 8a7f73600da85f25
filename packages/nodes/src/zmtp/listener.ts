import { createServer, type Server, type Socket } from 'node:net';
import { type Clock, every, type Timer } from '@muster/base';
import { networkOf, remoteOf } from '@muster/fabric';
import { parseTcpAddress } from '@muster/platform/config';
import { MusterError } from '../errors.js';
import { NODE_LIMITS } from '../limits.js';
import type { BoxKeys } from './box.js';
import { Connection, type FrameSink } from './connection.js';
import { CURVE_OVERHEAD, CurveMechanism } from './curve-mechanism.js';
import type { Intake } from './intake.js';
import { NullMechanism } from './null-mechanism.js';
import type { Seats } from './seats.js';
import { Unfinished } from './unfinished.js';

/** Why a connection was closed from here; the label of `muster_node_connections_closed_total`. */
export type CloseCause = 'no_seat' | 'protocol';

export interface ListenerSettings {
  /** `tcp://HOST:PORT`; port 0 is any free one. */
  readonly address: string;
  readonly socketType: 'PUB' | 'ROUTER';
  /** Kinds of sockets that may connect. */
  readonly peers: readonly string[];
  /** Null: unencrypted, open to everybody. */
  readonly curve: BoxKeys | null;
  /** Bytes of the largest frame. */
  readonly frameLimit: number;
  readonly seats: Seats;
  readonly intake: Intake;
  readonly clock: Clock;
  readonly admits: (curveKey: Uint8Array) => boolean;
  readonly opened: (connection: Connection) => FrameSink;
  readonly closed: (connection: Connection) => void;
  /** One was closed because of what it is or sent. */
  readonly refused: (cause: CloseCause, from: string, why: string) => void;
  /** The socket failed for good. */
  readonly failed: (error: unknown) => void;
}

/** Accepts connections, and keeps them within their limits. */
export class Listener {
  readonly #settings: ListenerSettings;
  readonly #server: Server;
  readonly #connections = new Set<Connection>();
  /** Of each CURVE key, the oldest first. */
  readonly #byKey = new Map<string, Connection[]>();
  readonly #unfinished = new Unfinished(NODE_LIMITS.unfinished);
  #sweeper: Timer | null = null;

  private constructor(settings: ListenerSettings) {
    this.#settings = settings;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  /** @throws MusterError `address_in_use` */
  static async open(settings: ListenerSettings): Promise<Listener> {
    const listener = new Listener(settings);
    await listener.#listen();
    return listener;
  }

  /** Where it listens; any interface is `0.0.0.0`. */
  get endpoint(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('not listening on TCP');
    const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
    return `tcp://${host}:${address.port}`;
  }

  async close(): Promise<void> {
    this.#sweeper?.cancel();
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const connection of this.#connections) connection.close(null);
    await closed;
  }

  async #listen(): Promise<void> {
    const { address, clock, failed } = this.#settings;
    const { host, port } = parseTcpAddress(address) ?? { host: '', port: 0 };
    try {
      await new Promise<void>((resolve, reject) => {
        this.#server.once('error', reject);
        const options = { host: host === '*' ? '0.0.0.0' : host, port, backlog: NODE_LIMITS.backlog };
        this.#server.listen(options, () => {
          this.#server.off('error', reject);
          resolve();
        });
      });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new MusterError('address_in_use', { address, reason }, { cause: error });
    }
    this.#server.on('error', failed);
    this.#sweeper = every(clock, NODE_LIMITS.overdueEveryMs, () => {
      const now = clock.monotonic();
      for (const connection of this.#connections) connection.overdue(now);
    });
  }

  #accept(socket: Socket): void {
    const { seats, intake, clock, refused, curve, socketType, peers, frameLimit, admits } = this.#settings;
    const remote = remoteOf(socket);
    const network = networkOf(remote);
    if (!seats.enter(network)) {
      socket.destroy();
      refused('no_seat', network, 'too many connections');
      return;
    }
    let curveKey: string | null = null;
    const connection = new Connection(socket, {
      security: curve === null ? 'NULL' : 'CURVE',
      mechanism: curve === null ? new NullMechanism(socketType) : new CurveMechanism(curve, socketType),
      peers,
      frameLimit: frameLimit + (curve === null ? 0 : CURVE_OVERHEAD),
      unfinished: this.#unfinished,
      intake,
      now: () => clock.monotonic(),
      admits(key) {
        if (key === null) return curve === null;
        if (!admits(key)) return false;
        curveKey = key.toString('latin1');
        return true;
      },
      opened: (opened) => {
        if (curveKey !== null) {
          seats.proven(network);
          this.#remember(curveKey, opened);
        }
        return this.#settings.opened(opened);
      },
      closed: (gone, why) => {
        this.#connections.delete(gone);
        seats.leave(network, curveKey !== null);
        if (curveKey !== null) this.#forget(curveKey, gone);
        this.#settings.closed(gone);
        if (why !== null) refused('protocol', network, why);
      },
    });
    this.#connections.add(connection);
  }

  /** A node that reconnects may not know that its last connection is gone; more than a few at once it does not need. */
  #remember(key: string, connection: Connection): void {
    const of = this.#byKey.get(key) ?? [];
    of.push(connection);
    this.#byKey.set(key, of);
    if (of.length > NODE_LIMITS.connectionsPerKey) of[0]?.close('more connections than a node needs');
  }

  #forget(key: string, connection: Connection): void {
    const others = (this.#byKey.get(key) ?? []).filter((other) => other !== connection);
    if (others.length > 0) this.#byKey.set(key, others);
    else this.#byKey.delete(key);
  }
}
