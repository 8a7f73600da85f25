import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FrontedTransport } from '@muster/nodes';
import type { Auth } from '@muster/platform/auth';
import { type ClusterServers, ClusterWatch, type Fence, LINKS, type Vouching } from '@muster/platform/cluster';
import type { ClusterStatus } from '@muster/platform/http';
import { serveUpgrades } from '@muster/platform/http';
import type { Base } from '@muster/platform/layers';
import type { Metrics } from '@muster/platform/metrics';
import type { SealingKey } from '@muster/platform/secrets';

/** What a server that leads a cluster has of the process that it is in, which was there before it and goes on after it. */
export interface Leading {
  /** Stands before everything that it stores. */
  readonly fence: Fence;
  /** Another server leads: nothing is stored any more. */
  readonly lost: () => void;
  readonly sealingKey: SealingKey;
  readonly vouching: Vouching;
  readonly servers: ClusterServers;
  readonly status: () => ClusterStatus;
  /** Everything is loaded, and the places where it is to listen are needed: whoever listens there stops. Of HTTP later, as it is served last. */
  readonly socketsNeeded: () => Promise<void>;
  readonly httpNeeded: () => Promise<void>;
  /** Who shall not lead was changed. */
  readonly changed: () => void;
}

/** Whether this server leads, for whoever watches all of them. */
export function countLead(metrics: Metrics, leads: () => boolean): void {
  metrics.gauge('muster_cluster_leader', '1: this server leads its cluster; 0: it follows', [], (gauge) =>
    gauge.set(leads() ? 1 : 0),
  );
}

/** The servers of the cluster, and the nodes of each, for whoever watches the one that leads. */
export function countServers(metrics: Metrics, { servers }: Leading, places: Pick<FrontedTransport, 'counts'>): void {
  metrics.gauge(
    'muster_cluster_servers',
    'Servers of the cluster: heard of within 15 seconds, or lost',
    ['state'],
    (gauge) => {
      const lost = servers.known.filter((server) => server.lost).length;
      gauge.set({ state: 'lost' }, lost);
      gauge.set({ state: 'up' }, servers.known.length - lost);
    },
  );
  metrics.gauge(
    'muster_cluster_server_nodes',
    'Nodes that were told to connect to each server of the cluster that takes some',
    ['server'],
    (gauge) => {
      for (const [server, nodes] of places.counts()) gauge.set({ server }, nodes);
    },
  );
}

/** Tells, in the audit and by events, that this server leads, and what becomes of the others. */
export function watchServers(
  { fence, servers }: Leading,
  { store, clock, logger, serverName: name }: Base,
  changes: Auth['changes'],
): ClusterWatch {
  const failed = (err: unknown): void =>
    logger.warn({ err }, 'what became of the servers of the cluster could not be told; trying again');
  return new ClusterWatch({ name, epoch: fence.epoch, servers, store, changes, clock, failed });
}

/**
 * Takes what other servers of the cluster pass on besides requests: clients of the event fabric, and what nodes say. All that was upgraded counts as coming from
 * where they say.
 */
export function servePassedOn(
  server: Server,
  { vouching }: Leading,
  takes: { readonly stomp: (socket: Socket) => void; readonly nodes: (socket: Socket) => void },
): void {
  server.prependListener('upgrade', (request, socket) => {
    const sender = vouching.sender(request.headers, request.method ?? 'GET', request.url ?? '/');
    if (sender === null) return;
    Object.defineProperties(socket, { remoteAddress: { value: sender.address }, remotePort: { value: sender.port } });
  });
  for (const what of ['stomp', 'nodes'] as const) {
    const { protocol, path } = LINKS[what];
    serveUpgrades(server, protocol, (request, socket, head) => {
      const { method = 'GET', url = '/', headers } = request;
      if (url !== path || vouching.sender(headers, method, url) === null) return void socket.destroy();
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`);
      if (head.length > 0) socket.unshift(head);
      takes[what](socket as Socket);
    });
  }
}
