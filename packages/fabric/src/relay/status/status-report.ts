import type { Clock } from '@muster/base';
import type { Hub } from '../../hub/hub.js';
import type { FabricMetrics } from '../../metrics.js';
import type { Sessions } from '../../session/sessions.js';
import type { ForwardedSubscriptions } from '../forwarding/forwarded-subscriptions.js';
import type { Listeners } from '../listeners.js';
import type { RelayState } from '../machine.js';
import type { RelaySettings } from '../options.js';
import type { UpstreamPublisher } from '../upstream/publisher.js';
import { Rates } from './rates.js';
import type { RelayCounter, RelayStatus } from './status.js';

export interface StatusReportPorts {
  readonly clock: Clock;
  readonly settings: RelaySettings;
  readonly metrics: FabricMetrics;
  readonly hub: Hub;
  readonly sessions: Sessions;
  readonly publisher: UpstreamPublisher;
  readonly forwarded: ForwardedSubscriptions;
  readonly listeners: Listeners;
}

/** Puts together what a relay tells about itself. */
export class StatusReport {
  readonly #ports: StatusReportPorts;
  readonly #rates: Rates;
  #state: RelayState['kind'] = 'ping';
  #sinceMs: number;
  #connects = 0;
  #lastError: string | null = null;
  #drops = 0;
  #lastDrop: { readonly at: string; readonly reason: string } | null = null;
  #ignored = 0;

  constructor(ports: StatusReportPorts) {
    this.#ports = ports;
    this.#sinceMs = ports.clock.now();
    this.#rates = new Rates(ports.clock, () => this.#totals());
  }

  /** The machine is in another state, or in the same for another reason. */
  entered(state: RelayState, reason: string | null): void {
    const nowMs = this.#ports.clock.now();
    if (reason !== null) this.#lastError = reason;
    if (state.kind === this.#state) return;
    this.#state = state.kind;
    this.#sinceMs = nowMs;
    if (state.kind === 'serving') this.#connects += 1;
    if (state.kind !== 'drop') return;
    this.#drops += 1;
    this.#lastDrop = { at: new Date(nowMs).toISOString(), reason: reason ?? '' };
  }

  /** A frame from upstream was dropped (B-7). */
  ignored(): void {
    this.#ignored += 1;
  }

  stop(): void {
    this.#rates.stop();
  }

  status(): RelayStatus {
    const { hub, listeners, metrics, forwarded, sessions, settings, publisher } = this.#ports;
    const { indexed, unindexed } = hub.stats();
    const [p50 = 0, p99 = 0] = metrics.matchMs.quantiles(0.5, 0.99);
    // The others have been cut, and their last bytes are being sent.
    const clients = [...sessions.connected].filter(({ isConnected }) => isConnected);
    let subscriptions = 0;
    let total = 0;
    let largest = 0;
    for (const session of clients) {
      subscriptions += session.subscriptions;
      total += session.queued;
      largest = Math.max(largest, session.queued);
    }
    return {
      pid: process.pid,
      workers: 1,
      listen: listeners.urls,
      upstream: {
        url: settings.upstream,
        state: this.#state,
        since: new Date(this.#sinceMs).toISOString(),
        connects: this.#connects,
        last_error: this.#lastError,
      },
      clients: clients.length,
      subscriptions,
      selectors: { indexed, unindexed },
      passed_up: forwarded.size,
      queued: { total, largest },
      unconfirmed: publisher.size,
      drops: { count: this.#drops, last: this.#lastDrop },
      totals: this.#totals(),
      rates: this.#rates.now(),
      match_ms: { p50, p99 },
    };
  }

  #totals(): Readonly<Record<RelayCounter, number>> {
    const { metrics, publisher } = this.#ports;
    return {
      events_down: metrics.matched,
      events_up: publisher.confirmed,
      events_failed: metrics.eventsFailed,
      deliveries: metrics.deliveries,
      bytes_in: metrics.bytesIn,
      bytes_out: metrics.bytesOut,
      accepted: metrics.accepted,
      crowded: metrics.refusedBeforeLogin,
      logins_refused: metrics.loginsRefused,
      protocol_errors: metrics.protocolErrors,
      selectors_refused: metrics.selectorsRefused,
      slow_disconnects: metrics.slowDisconnects,
      events_dropped: metrics.dropped,
      silent: metrics.silent,
      ignored: this.#ignored,
      stalls: metrics.stalls,
    };
  }
}
