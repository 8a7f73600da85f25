import type { FabricMetrics, Root } from '@muster/fabric';
import type { Metrics } from '../metrics/metrics.js';

/** Fields of the fabric's own counters, the series they become, and what they count. */
const COUNTERS: readonly (readonly [keyof FabricMetrics & CounterField, name: string, help: string])[] = [
  ['accepted', 'connections', 'Connections taken'],
  ['refusedBeforeLogin', 'crowded', 'Connections refused because too many had not logged in'],
  ['eventsIn', 'published', 'Events that clients published'],
  ['eventsFailed', 'failed', 'Events of clients that could not be stored'],
  ['matched', 'matched', 'Events compared with subscriptions'],
  ['deliveries', 'deliveries', 'MESSAGEs to clients, but for replays'],
  ['replayed', 'replayed', 'MESSAGEs to clients out of the log'],
  ['redelivered', 'redelivered', 'MESSAGEs of durable subscriptions delivered again'],
  ['givenUp', 'given_up', 'Events that a durable subscription refused too often'],
  ['expired', 'expired', 'Events that were pruned before a subscription read them; at most that many'],
  ['bytesIn', 'received_bytes', 'Bytes from clients'],
  ['bytesOut', 'sent_bytes', 'Bytes to clients'],
  ['subscribed', 'subscribed', 'Subscriptions made'],
  ['selectorsRefused', 'selectors_refused', 'Selectors that could not be read'],
  ['protocolErrors', 'protocol_errors', 'Clients cut because of what they sent'],
  ['slowDisconnects', 'slow_disconnects', 'Clients cut because they read too slowly'],
  ['dropped', 'dropped', 'Events not delivered to slow subscriptions that ask for it'],
  ['silent', 'silent', 'Clients found dead by heart-beats'],
  ['stalls', 'stalls', 'Relays cut because this process stood still'],
];

type CounterField = {
  [Field in keyof FabricMetrics]: FabricMetrics[Field] extends number ? Field : never;
}[keyof FabricMetrics];

export interface EventGauges {
  /** Future events. */
  scheduled(): number;
  /** Of the newest event. */
  position(): number;
}

/** The root's counters and gauges among the server's: `muster_event_*`. */
export function fabricMetrics(metrics: Metrics, root: Root, { scheduled, position }: EventGauges): void {
  for (const [field, name, help] of COUNTERS) {
    metrics.counted(`muster_event_${name}_total`, help, () => root.metrics[field]);
  }
  const gauge = (name: string, help: string, read: () => number) =>
    metrics.gauge(`muster_event_${name}`, help, [], (series) => series.set(read()));
  gauge('clients', 'Clients logged in', () => root.clients().length);
  gauge('relays', 'Relays among the clients', () => root.clients().filter(({ relay }) => relay).length);
  gauge('subscriptions', 'Subscriptions, but for those that read the log', () => root.subscriptions().subscriptions);
  gauge('queue_bytes', 'Bytes that wait for clients', () =>
    root.clients().reduce((sum, { queuedBytes }) => sum + queuedBytes, 0),
  );
  gauge('queue_bytes_largest', 'Bytes that wait for the slowest client', () =>
    root.clients().reduce((most, { queuedBytes }) => Math.max(most, queuedBytes), 0),
  );
  gauge('pending', 'Events that wait for the log', () => root.pending());
  gauge('scheduled', 'Future events', scheduled);
  gauge('position', 'Position of the newest event', position);
  metrics.gauge(
    'muster_event_selectors',
    'Different selectors; others than indexed are evaluated',
    ['indexed'],
    (series) => {
      const { indexed, unindexed } = root.subscriptions();
      series.set({ indexed: 'true' }, indexed);
      series.set({ indexed: 'false' }, unindexed);
    },
  );
  metrics.gauge('muster_event_match_seconds', 'Time to find the subscriptions of one event', ['quantile'], (series) => {
    const shares = [0.5, 0.99];
    const found = root.metrics.matchMs.quantiles(...shares);
    for (const [index, share] of shares.entries()) series.set({ quantile: share }, (found[index] ?? 0) / 1000);
  });
}
