import type { RelayState } from '../machine.js';
import { COUNTERS, type RelayCounter, type RelayStatus } from './status.js';

const STATES: readonly RelayState['kind'][] = ['ping', 'serving', 'degraded', 'drop', 'stopped'];

/** The status as Prometheus reads it (text format 0.0.4). */
export function metricsText(status: RelayStatus, nowMs: number): string {
  const { upstream, totals, queued, match_ms: match } = status;
  const lines: string[] = [];
  const metric = (name: string, type: 'counter' | 'gauge', help: string, ...samples: (readonly [string, number])[]) => {
    lines.push(`# HELP muster_relay_${name} ${help}`, `# TYPE muster_relay_${name} ${type}`);
    for (const [labels, value] of samples) lines.push(`muster_relay_${name}${labels} ${value}`);
  };
  metric(
    'upstream_state',
    'gauge',
    'State of the upstream connection: 1 for the present one',
    ...STATES.map((state) => [`{state="${state}"}`, state === upstream.state ? 1 : 0] as const),
  );
  const sinceMs = Date.parse(upstream.since);
  metric('upstream_state_seconds', 'gauge', 'Time in that state', ['', Math.max(0, (nowMs - sinceMs) / 1000)]);
  metric('upstream_connects_total', 'counter', 'How often upstream became ready', ['', upstream.connects]);
  metric('drops_total', 'counter', 'How often all clients were cut', ['', status.drops.count]);
  metric('workers', 'gauge', 'Processes', ['', status.workers]);
  metric('clients', 'gauge', 'Clients connected', ['', status.clients]);
  metric('subscriptions', 'gauge', 'Subscriptions of clients', ['', status.subscriptions]);
  metric(
    'selectors',
    'gauge',
    'Different selectors',
    ['{indexed="true"}', status.selectors.indexed],
    ['{indexed="false"}', status.selectors.unindexed],
  );
  metric('subscriptions_passed_up', 'gauge', 'Subscriptions that upstream serves', ['', status.passed_up]);
  metric('queue_bytes', 'gauge', 'Bytes that wait for clients', ['', queued.total]);
  metric('queue_bytes_largest', 'gauge', 'Bytes that wait for the slowest client', ['', queued.largest]);
  metric('unconfirmed_events', 'gauge', 'Events on their way up', ['', status.unconfirmed]);
  metric(
    'match_milliseconds',
    'gauge',
    'Time to find the subscriptions of one event',
    ['{quantile="0.5"}', match.p50],
    ['{quantile="0.99"}', match.p99],
  );
  for (const name of Object.keys(COUNTERS) as RelayCounter[]) {
    metric(`${name}_total`, 'counter', COUNTERS[name], ['', totals[name]]);
  }
  return `${lines.join('\n')}\n`;
}
