import type { Clock } from '@muster/base';
import type { IndexStats } from '@muster/selector';
import { MusterError } from '../errors.js';
import type { LoggedEvent } from '../event/event.js';
import { Hub } from '../hub/hub.js';
import { FABRIC_LIMITS } from '../limits.js';
import type { FabricLog } from '../log.js';
import { FabricMetrics } from '../metrics.js';
import { FlushScheduler } from '../outbound/flush-scheduler.js';
import { MessagePrefixes } from '../outbound/message-prefix.js';
import type { Login } from '../protocol/login.js';
import { Sessions } from '../session/sessions.js';
import type { Accept } from '../transport/channel.js';
import { LogAppender } from './log-appender.js';
import type { CursorKey, RootPorts } from './ports.js';
import { Replays } from './replays.js';

export interface RootOptions {
  readonly ports: RootPorts;
  readonly clock: Clock;
  readonly log: FabricLog;
  /** Named to clients: `muster/0.1.0`. */
  readonly server: string;
  /** Of type, attributes and body of an event; 4096. */
  readonly eventBytes?: number;
  /** Of bytes that wait for one client (F5); 8 MiB. */
  readonly outboundBytes?: number;
  /** Heart-beat interval, both ways, in milliseconds; 30,000. */
  readonly idleMs?: number;
  /** How long relays below wait for an answer (F4), in milliseconds; 10,000. */
  readonly sendMs?: number;
  /** Runs work after this turn of the event loop; `setImmediate`. */
  readonly defer?: (work: () => void) => void;
}

/** One client, for people. */
export interface ClientStatus {
  readonly principal: string;
  readonly remote: string;
  readonly relay: boolean;
  readonly version: string;
  readonly subscriptions: number;
  /** Bytes that wait for it. */
  readonly queuedBytes: number;
}

export interface Root {
  /** For listeners: takes a connection. */
  readonly accept: Accept;
  readonly metrics: FabricMetrics;
  clients(): readonly ClientStatus[];
  subscriptions(): IndexStats;
  /** Events that wait for the log. */
  pending(): number;
  /**
   * Ends a durable subscription for good; who follows it is told. Resolves with whether there was one.
   * Rejects with `store_unavailable`.
   */
  forget(key: CursorKey): Promise<boolean>;
  /** Ends all sessions with an ERROR and saves what they acknowledged. The listeners must be closed before. */
  stop(): Promise<void>;
}

/** The broker at the top of the tree: symmetric, with echo (F3, O-1), and with a memory (F6). */
export function createRoot(options: RootOptions): Root {
  const { ports, clock, log, server } = options;
  const { eventBytes = FABRIC_LIMITS.eventBytes, outboundBytes = FABRIC_LIMITS.outboundBytes } = options;
  const { idleMs = FABRIC_LIMITS.idleMs, sendMs = FABRIC_LIMITS.sendMs, defer = setImmediate } = options;
  const metrics = new FabricMetrics();
  const scheduler = new FlushScheduler(defer);
  const hubs = new Map<string, Hub>();
  let deliveredThrough = ports.log.last();

  /** Each organization has a hub of its own, so that nobody gets events of another. */
  function hubOf(org: string): Hub {
    let hub = hubs.get(org);
    if (hub === undefined) {
      hub = new Hub(scheduler, metrics);
      hubs.set(org, hub);
    }
    return hub;
  }

  function deliver(events: readonly LoggedEvent[]): void {
    for (const event of events) {
      const hub = hubs.get(event.event.origin.org);
      if (hub !== undefined && hub.size > 0) hub.deliver(event);
      deliveredThrough = event.position;
    }
  }

  async function judged(judging: Promise<Login>, remote: string): Promise<Login> {
    try {
      return await judging;
    } catch (error) {
      if (error instanceof MusterError) throw error;
      log.error({ err: error, remote }, 'a login could not be checked');
      throw new MusterError('internal', {}, { cause: error });
    }
  }

  const append = new LogAppender({ events: ports.log, schedule: ports.schedule, log, defer });
  const replays = new Replays({
    events: ports.log,
    cursors: ports.cursors,
    clock,
    log,
    metrics,
    hub: hubOf,
    deliveredThrough: () => deliveredThrough,
  });
  const sessions = new Sessions({
    broker: {
      login: (login, passcode, remote) => judged(ports.authority.login(login, passcode, { remote }), remote),
      renew: (login, grounds, remote) => judged(ports.authority.renew(login, grounds), remote),
      hub: ({ org }) => hubOf(org),
      publish: (publication) => append.publish(publication),
      replay: (request) => replays.start(request),
    },
    clock,
    scheduler,
    prefixes: new MessagePrefixes(scheduler),
    metrics,
    log,
    rules: { idleMs, anonymous: false },
    eventLimit: () => ({ bytes: eventBytes, setting: 'events.max_size' }),
    outboundBytes,
    server,
    sendMs,
  });
  const unfollow = ports.log.onStored(deliver);
  const unlisten = ports.authority.onRevoked((revoked) => sessions.revoke(revoked));

  return {
    accept: sessions.accept,
    metrics,
    clients: () =>
      [...sessions.connected].map(({ access: { principal, relay }, remote, version, subscriptions, queued }) => ({
        principal,
        remote,
        relay,
        version,
        subscriptions,
        queuedBytes: queued,
      })),
    subscriptions: () => sum([...hubs.values()].map((hub) => hub.stats())),
    pending: () => append.pending,
    forget: (key) => replays.forget(key),
    async stop() {
      sessions.cutAll(new MusterError('event_stopping'));
      sessions.stop();
      await append.settle();
      unfollow();
      unlisten();
      await replays.stop();
    },
  };
}

function sum(stats: readonly IndexStats[]): IndexStats {
  const total = { subscriptions: 0, expressions: 0, indexed: 0, unindexed: 0 };
  for (const { subscriptions, expressions, indexed, unindexed } of stats) {
    total.subscriptions += subscriptions;
    total.expressions += expressions;
    total.indexed += indexed;
    total.unindexed += unindexed;
  }
  return total;
}
