import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '@muster/base';
import {
  createRoot,
  EVENTS_DESTINATION,
  type Listener,
  listenForChannels,
  takeSocket,
  webSocketUpgrade,
} from '@muster/fabric';
import type { Store } from '@muster/store';
import type { Logger } from 'pino';
import type { Auth } from '../auth/auth.js';
import type { RandomBytes } from '../auth/changes.js';
import type { Identity, Organization } from '../auth/types.js';
import { isEverywhere, parseHostPort } from '../config/address.js';
import type { ServerConfig } from '../config/schema.js';
import { readTls } from '../config/tls.js';
import type { App } from '../http/route.js';
import { serveWebSockets } from '../http/upgrade.js';
import type { Events } from '../log/events.js';
import type { EventFamily } from '../log/own-events.js';
import type { Metrics } from '../metrics/metrics.js';
import { Followers } from './access.js';
import { StoredCursors } from './cursors.js';
import { fabricMetrics } from './fabric-metrics.js';
import { EventGrants } from './grants.js';
import { EventAuthority } from './login.js';
import { accessRoutes } from './routes/access.js';
import { durableRoutes } from './routes/durable.js';
import { scheduledRoutes } from './routes/scheduled.js';
import { webSocketRoute, whereRoutes } from './routes/where.js';
import { EventSchedule } from './schedule.js';
import { StoredNonces } from './stored-nonces.js';

export interface EventFabricDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly random: RandomBytes;
  readonly config: ServerConfig;
  readonly auth: Auth;
  readonly events: Events;
  /** What the layers of this process tell. */
  readonly families: readonly EventFamily[];
  /** Where others reach a server that listens everywhere. */
  readonly serverName: string;
  readonly version: string;
}

/** The root of the event fabric: what clients and relays connect to. */
export interface EventFabric {
  routes(app: App): void;
  /** Relays among them. */
  status(): { readonly eventClients: number };
  /** Takes WebSockets of this server. Before it listens. */
  attach(server: Server): void;
  /** Takes a connection that another server of the cluster has taken for this one. */
  take(socket: Socket): void;
  /** Before it takes connections. */
  load(): Promise<void>;
  /** Where it takes connections, once it does. */
  readonly url: string;
  /**
   * Takes connections, and publishes what is due from now on.
   * @throws MusterError `address_in_use`, `invalid_certificate`.
   */
  start(): Promise<void>;
  /** An organization was deleted. */
  organizationRemoved(orgId: string): void;
  /** Takes no more, tells clients so, and publishes nothing more. Before the store is closed. */
  stop(): Promise<void>;
}

/** Of the HTTP server. */
export const WEBSOCKET_PATH = '/stomp';

export function createEventFabric(deps: EventFabricDeps): EventFabric {
  const { store, clock, logger, metrics, random, config, auth, events } = deps;
  const { repository, changes, audit } = auth;
  const { stomp, events: settings } = config;
  const organization = (name: string) => repository.organization(name);
  const logins = metrics.counter('muster_event_logins_total', 'Logins to the event fabric', ['outcome']);
  const nonces = new StoredNonces(store, clock, (error) =>
    logger.warn({ err: error }, 'nonces of old logins could not be deleted'),
  );
  const authority = new EventAuthority({
    repository,
    audit,
    nonces,
    sessions: auth.sessions,
    followers: new Followers(auth.rights, deps.families),
    clock,
    log: logger,
    observe: (outcome) => logins.inc({ outcome }),
  });
  const cursors = new StoredCursors(
    store,
    async (name) => (await organization(name))?.id,
    async (orgId, kind, name) =>
      (await repository.candidates(orgId, name)).some(({ member, type }) => member && type === kind),
  );
  const schedule = new EventSchedule({
    store,
    recorder: events.recorder,
    clock,
    random,
    organization,
    most: settings.max_scheduled,
    log: logger,
  });
  const root = createRoot({
    ports: { authority, log: events.log, cursors, schedule },
    clock,
    log: logger,
    eventBytes: settings.max_size,
    outboundBytes: settings.outlet_bytes,
    idleMs: stomp.heartbeat * 1000,
    server: `muster/${deps.version}`,
  });
  fabricMetrics(metrics, root, { scheduled: () => schedule.size, position: () => events.log.last() });
  const administers = (caller: Identity, org: Organization) => auth.authorize(caller, org, 'org:admin');
  let listener: Listener | null = null;
  let stopped: Promise<void> | null = null;
  const stop = async (): Promise<void> => {
    await listener?.close();
    await Promise.all([schedule.stop(), nonces.stop()]);
    try {
      await root.stop();
    } finally {
      authority.stop();
    }
  };

  return {
    routes(app) {
      webSocketRoute(app, WEBSOCKET_PATH);
      whereRoutes(app, (base) => ({
        stomp: advertised(listener?.url ?? '', deps, base),
        websocket: `${base.replace(/^http/, 'ws')}${WEBSOCKET_PATH}`,
        destination: EVENTS_DESTINATION,
        position: events.log.last(),
        max_size: settings.max_size,
      }));
      accessRoutes(app, new EventGrants(changes, repository));
      scheduledRoutes(app, { schedule, administers });
      durableRoutes(app, { cursors, forget: (key) => root.forget(key), administers });
    },
    get url() {
      return listener?.url ?? '';
    },
    status: () => ({ eventClients: root.clients().length }),
    async load() {
      await Promise.all([schedule.load(), nonces.load()]);
    },
    attach(server) {
      const upgrade = webSocketUpgrade({ clock });
      serveWebSockets(server, WEBSOCKET_PATH, (request, socket, head) => {
        // This server still answers what it was asked before, when nobody is let in here any more.
        if (stopped !== null) socket.destroy();
        else upgrade(request, socket, head, root.accept);
      });
    },
    take(socket) {
      if (stopped !== null) socket.destroy();
      else takeSocket(socket, clock, root.accept);
    },
    async start() {
      const tls = readTls(config, 'stomp');
      const url = `${tls === undefined ? 'stomp' : 'stomp+tls'}://${stomp.listen}`;
      const refused = (error: Error, remote: string) => logger.debug({ err: error, remote }, 'no STOMP connection');
      listener = await listenForChannels(
        url,
        { ...(tls && { tls }), insecure: stomp.insecure, refused, clock },
        root.accept,
      );
      schedule.start();
      nonces.start();
    },
    organizationRemoved: (orgId) => schedule.forget(orgId),
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}

/** The URL with which others reach it. Every server of a cluster takes clients: whoever asks goes on where it has asked. */
function advertised(url: string, { config, serverName }: EventFabricDeps, base: string): string {
  const [scheme = '', place = ''] = url.split('://');
  if (config.stomp.advertise !== undefined) return `${scheme}://${config.stomp.advertise}`;
  const address = parseHostPort(place);
  if (config.cluster && address !== null) return `${scheme}://${new URL(base).hostname}:${address.port}`;
  return address !== null && isEverywhere(address.host) ? `${scheme}://${serverName}:${address.port}` : url;
}
