import type { RelayState } from '../machine.js';

/** What a relay tells about itself. Counters count since it was started. */
export interface RelayStatus {
  readonly pid: number;
  /** Processes that share its port, each with its own connection upstream. */
  readonly workers: number;
  /** Where clients connect; empty as long as none are taken. */
  readonly listen: readonly string[];
  readonly upstream: UpstreamStatus;
  readonly clients: number;
  readonly subscriptions: number;
  /** Different selectors of theirs: `unindexed` ones are evaluated for every event. */
  readonly selectors: { readonly indexed: number; readonly unindexed: number };
  /** Subscriptions with `from` or `durable`, which upstream serves. */
  readonly passed_up: number;
  /** Written and not yet taken by the clients' systems, in bytes. */
  readonly queued: { readonly total: number; readonly largest: number };
  /** Events on their way up that are not confirmed. */
  readonly unconfirmed: number;
  readonly drops: DropStatus;
  readonly totals: Readonly<Record<RelayCounter, number>>;
  /** Per second, over the last seconds. */
  readonly rates: Readonly<Record<RatedCounter, number>>;
  /** Milliseconds to find the subscriptions of one event. */
  readonly match_ms: { readonly p50: number; readonly p99: number };
}

export interface UpstreamStatus {
  readonly url: string;
  readonly state: RelayState['kind'];
  readonly since: string;
  /** How often it became ready. */
  readonly connects: number;
  readonly last_error: string | null;
}

/** How often all clients were cut because a message could not go up, and why. */
export interface DropStatus {
  readonly count: number;
  readonly last: { readonly at: string; readonly reason: string } | null;
}

/** Name, and what it counts. */
export const COUNTERS = {
  events_down: 'Events that came from upstream',
  events_up: 'Events of clients that upstream confirmed',
  events_failed: 'Events of clients that were not published',
  deliveries: 'MESSAGEs to clients',
  bytes_in: 'Bytes from clients',
  bytes_out: 'Bytes to clients',
  accepted: 'Connections of clients taken',
  crowded: 'Connections refused because too many had not logged in',
  logins_refused: 'Logins of clients that were refused',
  protocol_errors: 'Clients cut because of what they sent',
  selectors_refused: 'Selectors that could not be read',
  slow_disconnects: 'Clients cut because they read too slowly',
  events_dropped: 'Events not delivered to slow subscriptions that ask for it',
  silent: 'Clients found dead by heart-beats',
  ignored: 'Frames from upstream that only clients may send',
  stalls: 'Relays below that were cut because this process stood still',
} as const;

export type RelayCounter = keyof typeof COUNTERS;

export const RATED = ['events_down', 'events_up', 'deliveries', 'bytes_out'] as const satisfies readonly RelayCounter[];
export type RatedCounter = (typeof RATED)[number];

/** Several processes as one. What cannot be added up is that of the one which is worst off. */
export function mergeStatus(pid: number, parts: readonly RelayStatus[]): RelayStatus | null {
  const [first, ...others] = parts;
  if (first === undefined) return null;
  return { ...others.reduce(merged, first), pid };
}

/** The state that people should hear of first. */
const URGENCY: readonly RelayState['kind'][] = ['drop', 'ping', 'degraded', 'stopped', 'serving'];

function merged(one: RelayStatus, other: RelayStatus): RelayStatus {
  const worse = (state: RelayStatus) => URGENCY.indexOf(state.upstream.state);
  const upstream = worse(other) < worse(one) ? other.upstream : one.upstream;
  const newest = [one.drops.last, other.drops.last]
    .filter((last) => last !== null)
    .sort((a, b) => b.at.localeCompare(a.at));
  return {
    pid: one.pid,
    workers: one.workers + other.workers,
    listen: [...new Set([...one.listen, ...other.listen])],
    upstream: { ...upstream, connects: one.upstream.connects + other.upstream.connects },
    clients: one.clients + other.clients,
    subscriptions: one.subscriptions + other.subscriptions,
    selectors: sums(one.selectors, other.selectors),
    passed_up: one.passed_up + other.passed_up,
    queued: {
      total: one.queued.total + other.queued.total,
      largest: Math.max(one.queued.largest, other.queued.largest),
    },
    unconfirmed: one.unconfirmed + other.unconfirmed,
    drops: { count: one.drops.count + other.drops.count, last: newest[0] ?? null },
    totals: sums(one.totals, other.totals),
    rates: sums(one.rates, other.rates),
    match_ms: {
      p50: Math.max(one.match_ms.p50, other.match_ms.p50),
      p99: Math.max(one.match_ms.p99, other.match_ms.p99),
    },
  };
}

function sums<Name extends string>(one: Counts<Name>, other: Counts<Name>): Counts<Name> {
  const added: Record<Name, number> = { ...one };
  for (const name in other) added[name] += other[name];
  return added;
}

type Counts<Name extends string> = Readonly<Record<Name, number>>;
