import { DISK_FAULTS } from '../kernel/disk-faults.js';
import type { Random } from '../kernel/random.js';
import { makeSelector, type Selector } from './selectors.js';

export const TREE_FAULTS = [
  'root crash',
  'root stop',
  'root freeze',
  'relay crash',
  'relay stop',
  'relay freeze',
  'client crash',
  'client freeze',
  'connection drop',
  'partition',
  'slow network',
  'slow reader',
  ...DISK_FAULTS,
  'revocation',
] as const;
export type TreeFault = (typeof TREE_FAULTS)[number];

export const ORGS = ['red', 'blue'] as const;
export type Org = (typeof ORGS)[number];

export interface NodePlan {
  readonly name: string;
  readonly org: Org;
  /** Of the relay above; null: the root. */
  readonly parent: string | null;
  /** Links up to the root. */
  readonly level: number;
  readonly latencyMs: readonly [least: number, most: number];
}

export interface SubscriptionPlan {
  readonly selector: Selector;
  /** Where it begins; null: now. */
  readonly from: string | null;
  readonly slow: 'drop-newest' | 'drop-oldest' | null;
}

/** A subscription that the root keeps for its program, under a name. */
export interface DurablePlan {
  readonly name: string;
  readonly selector: Selector;
  /** Where it begins; null: now. */
  readonly from: 'first' | null;
  readonly ack: 'client' | 'client-individual';
  /** Share of events that the program refuses for no reason. */
  readonly refuses: number;
  /** Mean time until it has settled an event. */
  readonly holdMs: number;
}

export interface ClientPlan extends NodePlan {
  readonly subscriptions: readonly SubscriptionPlan[];
  readonly durables: readonly DurablePlan[];
}

/** What a seed stands for, apart from the moments at which things happen. */
export interface TreePlan {
  readonly relays: readonly NodePlan[];
  readonly clients: readonly ClientPlan[];
  readonly faults: readonly TreeFault[];
  readonly faultEveryMs: number;
  /** Per step: a crash between any two steps. */
  readonly crashPerStep: number;
  readonly chaosMs: number;
  readonly publishEveryMs: number;
  readonly bodyBytes: number;
  readonly commitMs: number;
  readonly heartBeatMs: number;
  readonly sendMs: number;
  readonly retryMs: number;
  readonly outletBytes: number;
  readonly windowBytes: number;
  readonly splits: number;
}

export interface TreeSizes {
  readonly chaosMs?: number;
}

const LEVELS = 3;
/** As the server's configuration allows. */
const LEAST_OUTLET_BYTES = 65_536;

export function makeTreePlan(random: Random, sizes: TreeSizes): TreePlan {
  const near = random.chance(0.6);
  const latency = (): [number, number] => (near ? [0.2, 2] : [1, random.pick([10, 40, 150])]);
  const relays = makeRelays(random, latency);
  const faults = random.chance(0.05) ? [] : TREE_FAULTS.filter(() => random.chance(0.3));
  const crashing = faults.some((fault) => fault.endsWith(' crash'));
  return {
    relays,
    clients: makeClients(random, relays, latency),
    faults,
    faultEveryMs: random.pick([500, 1_500, 4_000]),
    crashPerStep: crashing && random.chance(0.4) ? random.pick([0.001, 0.003]) : 0,
    chaosMs: sizes.chaosMs ?? random.integer(3_000, 9_000),
    publishEveryMs: random.pick([50, 150, 400]),
    bodyBytes: random.pick([0, 100, 3_900]),
    commitMs: random.pick([0, 0, 1, 10, 100]),
    heartBeatMs: random.pick([2_000, 3_000]),
    sendMs: random.pick([1_500, 3_000]),
    retryMs: random.pick([300, 1_000]),
    outletBytes: random.pick([LEAST_OUTLET_BYTES, 1_000_000]),
    windowBytes: random.pick([4_096, 16_384, 65_536]),
    splits: random.pick([0, 0.1, 0.6]),
  };
}

function makeRelays(random: Random, latency: () => [number, number]): NodePlan[] {
  const relays: NodePlan[] = [];
  const count = random.integer(1, 4);
  for (let index = 0; index < count; index++) {
    const above = random.chance(0.35) ? undefined : random.some(relays.filter(({ level }) => level < LEVELS));
    relays.push({
      name: `relay${index + 1}`,
      org: above?.org ?? (random.chance(0.85) ? 'red' : 'blue'),
      parent: above?.name ?? null,
      level: (above?.level ?? 0) + 1,
      latencyMs: latency(),
    });
  }
  return relays;
}

function makeClients(random: Random, relays: readonly NodePlan[], latency: () => [number, number]): ClientPlan[] {
  return Array.from({ length: random.integer(2, 7) }, (_, index): ClientPlan => {
    const above = random.chance(0.2) ? undefined : random.some(relays);
    return {
      name: `c${index + 1}`,
      org: above?.org ?? (random.chance(0.7) ? 'red' : 'blue'),
      parent: above?.name ?? null,
      level: (above?.level ?? 0) + 1,
      latencyMs: latency(),
      subscriptions: Array.from({ length: random.integer(1, 3) }, () => makeSubscription(random)),
      durables: Array.from({ length: random.pick([0, 0, 1, 1, 2]) }, (_, at) => makeDurable(random, `d${at + 1}`)),
    };
  });
}

function makeDurable(random: Random, name: string): DurablePlan {
  return {
    name,
    selector: makeSelector(random, 1),
    from: random.chance(0.5) ? 'first' : null,
    ack: random.pick(['client', 'client-individual']),
    refuses: random.pick([0, 0, 0.05, 0.3]),
    holdMs: random.pick([0, 20, 300, 2_000]),
  };
}

export function makeSubscription(random: Random): SubscriptionPlan {
  const from = random.chance(0.35) ? random.pick(['first', '0', '3', '-2s', '-5s']) : null;
  const slow = from === null && random.chance(0.2) ? random.pick(['drop-newest', 'drop-oldest'] as const) : null;
  return { selector: makeSelector(random), from, slow };
}
