import type { Clock } from '@muster/base';
import { type Dialect, dialects, type ServerMessage } from '@muster/wire';
import type { KnownNode } from './known-node.js';
import type { NodeMetrics } from './metrics.js';
import { sealing } from './sessions.js';
import type { Transport } from './transport.js';

export interface DispatchDeps {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly metrics: NodeMetrics;
  /** Advertised server name, part of some messages. */
  readonly serverName: string;
}

/** Messages to nodes: the body encoded once per dialect, sealed per node when its turn to be sent has come (§5.2). */
export class Dispatch {
  readonly #deps: DispatchDeps;

  constructor(deps: DispatchDeps) {
    this.#deps = deps;
  }

  reaches(node: KnownNode): boolean {
    return node.peer !== null && sealing(node.sessions, this.#deps.clock.now()) !== null;
  }

  /** Never blocks; what cannot be sent is dropped and counted. */
  send(nodes: Iterable<KnownNode>, message: ServerMessage): void {
    const { transport, clock, metrics, serverName } = this.#deps;
    const bodies = new Map<Dialect, Uint8Array | null>();
    for (const node of nodes) {
      const peer = node.peer;
      const dialect = sealing(node.sessions, clock.now())?.dialect;
      if (peer === null || dialect === undefined) {
        metrics.sendDropped('not_connected');
        continue;
      }
      let body = bodies.get(dialect);
      if (body === undefined) {
        body = dialects[dialect].encodeServer(message, { server: serverName, now: clock.now() });
        bodies.set(dialect, body);
      }
      if (body === null) {
        metrics.sendDropped('no_form');
        continue;
      }
      const encoded = body;
      transport.send(peer, () => {
        // The session is the one of the moment of sending: the node may have changed keys since, or its key have expired.
        const agreed = sealing(node.sessions, clock.now());
        return agreed === null || agreed.dialect !== dialect
          ? null
          : dialects[dialect].sealServer(encoded, agreed.session);
      });
    }
  }
}
