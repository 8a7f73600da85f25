import { Hub } from '../hub/hub.js';
import { FABRIC_LIMITS } from '../limits.js';
import { FabricMetrics } from '../metrics.js';
import { FlushScheduler } from '../outbound/flush-scheduler.js';
import { MessagePrefixes } from '../outbound/message-prefix.js';
import type { EventLimit } from '../session/context.js';
import { Sessions } from '../session/sessions.js';
import { RelayBroker } from './broker.js';
import { Dispatcher } from './dispatcher.js';
import { ForwardedSubscriptions } from './forwarding/forwarded-subscriptions.js';
import { Listeners, type ListenersPorts } from './listeners.js';
import { LoginRenewal } from './logins/login-renewal.js';
import { UpstreamLogins } from './logins/upstream-logins.js';
import type { RelaySettings } from './options.js';
import { StatusReport } from './status/status-report.js';
import { UpstreamPublisher } from './upstream/publisher.js';
import type { Upstream } from './upstream/upstream.js';

export interface ComponentsPorts extends Omit<ListenersPorts, 'accept'> {
  /** Runs work after this turn of the loop. */
  readonly defer: (work: () => void) => void;
  /** The connection that is ready, or null. */
  upstream(): Upstream | null;
  /** An event could not be sent upstream. */
  sendFailed(reason: string): void;
  /** Whether clients are taken. */
  serving(): boolean;
}

/** The parts of a relay, wired together by `createComponents`. */
export interface RelayComponents {
  readonly sessions: Sessions;
  readonly listeners: Listeners;
  readonly logins: UpstreamLogins;
  readonly forwarded: ForwardedSubscriptions;
  /** Null: clients have no logins that upstream knows. */
  readonly renewal: LoginRenewal | null;
  readonly publisher: UpstreamPublisher;
  readonly dispatcher: Dispatcher;
  readonly report: StatusReport;
}

export function createComponents(settings: RelaySettings, ports: ComponentsPorts): RelayComponents {
  const { clock, defer, log, sendFailed, serving, upstream } = ports;
  const { anonymous, foreign, heartBeatMs, org, outboundBytes, sendMs } = settings;
  const metrics = new FabricMetrics();
  const scheduler = new FlushScheduler(defer);
  const hub = new Hub(scheduler, metrics);
  const logins = new UpstreamLogins(clock, sendMs);
  const forwarded = new ForwardedSubscriptions(anonymous, clock);
  const publisher = new UpstreamPublisher(anonymous, { defer, failed: sendFailed });
  const broker = new RelayBroker({ hub, publisher, forwarded, logins, org, anonymous, foreign, upstream });
  const sessions = new Sessions({
    broker,
    clock,
    scheduler,
    prefixes: new MessagePrefixes(scheduler),
    metrics,
    log,
    rules: { idleMs: heartBeatMs, anonymous },
    eventLimit: () => eventLimit(settings, upstream()),
    outboundBytes,
    server: 'muster-relay',
    sendMs,
  });
  const listeners = new Listeners(settings, {
    ...ports,
    accept(channel) {
      if (serving()) return sessions.accept(channel);
      // It came while the listening socket was being closed.
      channel.destroy();
      return { data() {}, drained() {}, closed() {} };
    },
  });
  const report = new StatusReport({ clock, settings, metrics, hub, sessions, publisher, forwarded, listeners });
  const renewal = anonymous
    ? null
    : new LoginRenewal({
        clock,
        sessions: () => sessions.connected,
        ask: (login, grounds) => broker.renew(login, grounds),
      });
  const dispatcher = new Dispatcher({
    hub,
    sessions,
    logins,
    renewal,
    forwarded,
    log,
    ignored: () => report.ignored(),
  });
  return { sessions, listeners, logins, forwarded, renewal, publisher, dispatcher, report };
}

/** The root decides, unless this relay is told to take less, or upstream does not say what the root has decided. */
function eventLimit({ eventBytes }: RelaySettings, upstream: Upstream | null): EventLimit {
  const above = upstream?.maxEventBytes ?? Number.POSITIVE_INFINITY;
  if (eventBytes === undefined && above <= FABRIC_LIMITS.clientFrameBytes) {
    return { bytes: above, setting: 'events.max_size of the server above this relay' };
  }
  return { bytes: eventBytes ?? FABRIC_LIMITS.eventBytes, setting: '--max-event of this relay' };
}
