import { Hub } from '../hub/hub.js';
import { FABRIC_LIMITS } from '../limits.js';
import { FabricMetrics } from '../metrics.js';
import type { EventLimit } from '../session/context.js';
import { Flush } from '../session/flush.js';
import { Prefixes } from '../session/prefix.js';
import { Sessions } from '../session/sessions.js';
import { RelayBroker } from './broker.js';
import { Downward } from './downward.js';
import { Listeners, type ListenersPorts } from './listeners.js';
import { Logins } from './logins.js';
import type { RelaySettings } from './options.js';
import { PassedUp } from './passed-up.js';
import { Renewal } from './renewal.js';
import { Report } from './report.js';
import type { Upstream } from './upstream.js';
import { Upward } from './upward.js';

export interface PartsPorts extends Omit<ListenersPorts, 'accept'> {
  /** Runs work after this turn of the loop. */
  readonly defer: (work: () => void) => void;
  /** The connection that is ready, or null. */
  upstream(): Upstream | null;
  /** A message could not go up. */
  sendFailed(reason: string): void;
  /** Whether clients are taken. */
  serving(): boolean;
}

/** What a relay is made of. */
export interface Parts {
  readonly sessions: Sessions;
  readonly listeners: Listeners;
  readonly logins: Logins;
  readonly passedUp: PassedUp;
  /** Null: clients have no logins that upstream knows. */
  readonly renewal: Renewal | null;
  readonly upward: Upward;
  readonly downward: Downward;
  readonly report: Report;
}

export function makeParts(settings: RelaySettings, ports: PartsPorts): Parts {
  const { clock, defer, log, sendFailed, serving, upstream } = ports;
  const { anonymous, foreign, heartBeatMs, org, outletBytes, sendMs } = settings;
  const metrics = new FabricMetrics();
  const flush = new Flush(defer);
  const hub = new Hub(flush, metrics);
  const logins = new Logins(clock, sendMs);
  const passedUp = new PassedUp(anonymous, clock);
  const upward = new Upward(anonymous, { defer, failed: sendFailed });
  const broker = new RelayBroker({ hub, upward, passedUp, logins, org, anonymous, foreign, upstream });
  const sessions = new Sessions({
    broker,
    clock,
    flush,
    prefixes: new Prefixes(flush),
    metrics,
    log,
    rules: { idleMs: heartBeatMs, anonymous },
    eventLimit: () => eventLimit(settings, upstream()),
    outletBytes,
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
  const report = new Report({ clock, settings, metrics, hub, sessions, upward, passedUp, listeners });
  const renewal = anonymous
    ? null
    : new Renewal({ clock, sessions: () => sessions.open, ask: (login, grounds) => broker.renew(login, grounds) });
  const downward = new Downward({ hub, sessions, logins, renewal, passedUp, log, ignored: () => report.ignored() });
  return { sessions, listeners, logins, passedUp, renewal, upward, downward, report };
}

/** The root decides, unless this relay is told to take less, or upstream does not say what the root has decided. */
function eventLimit({ eventBytes }: RelaySettings, upstream: Upstream | null): EventLimit {
  const above = upstream?.maxEventBytes ?? Number.POSITIVE_INFINITY;
  if (eventBytes === undefined && above <= FABRIC_LIMITS.clientFrameBytes) {
    return { bytes: above, setting: 'events.max_size of the server above this relay' };
  }
  return { bytes: eventBytes ?? FABRIC_LIMITS.eventBytes, setting: '--max-event of this relay' };
}
