import type { ServerConfig } from '@muster/platform/config';
import type { PushJobSpec } from '@muster/push';
import { DISK_FAULTS } from '../kernel/disk-faults.js';
import type { Random } from '../kernel/random.js';

/** Where every agent finds the server. */
export const HOST = 'sim';

export const FAULTS = [
  'server crash',
  'server stop',
  'agent crash',
  'agent stop',
  'power cut',
  'reinstall',
  'server freeze',
  'agent freeze',
  'partition',
  'packets',
  'slow network',
  ...DISK_FAULTS,
  'server clock',
  'agent clock',
] as const;
export type Fault = (typeof FAULTS)[number];

/** A machine for a server. Those of one host stand by for each other: whichever runs is found there. */
export interface ServerPlan {
  readonly name: string;
  readonly host: string;
}

export interface NodePlan {
  readonly name: string;
  readonly dialect: 'native' | 'chef2';
  readonly latencyMs: readonly [number, number];
  readonly diskMs: number;
}

/** What a seed stands for, apart from the moments at which things happen. */
export interface Scenario {
  readonly servers: readonly ServerPlan[];
  readonly nodes: readonly NodePlan[];
  readonly faults: readonly Fault[];
  /** Mean time between two faults. */
  readonly faultEveryMs: number;
  /** Per step of the simulation: a crash between any two steps. */
  readonly crashPerStep: number;
  readonly chaosMs: number;
  readonly jobs: number;
  readonly commitMs: number;
  readonly config: ServerConfig;
}

export interface Sizes {
  readonly chaosMs?: number;
  readonly jobs?: number;
  readonly nodes?: number;
  readonly servers?: number;
}

export function makeScenario(random: Random, base: ServerConfig, sizes: Sizes): Scenario {
  const count = sizes.nodes ?? random.integer(1, 5);
  const near = random.chance(0.6);
  const diskMs = random.pick([0, 0, 2, 20]);
  const deployed = random.chance(0.3);
  const nodes = Array.from({ length: count }, (_, index): NodePlan => {
    return {
      name: `n${index}`,
      dialect: deployed && random.chance(0.5) ? 'chef2' : 'native',
      latencyMs: near ? [0.2, 2] : [1, random.pick([20, 80, 300])],
      diskMs,
    };
  });
  const calm = random.chance(0.05);
  const faults = calm ? [] : FAULTS.filter(() => random.chance(0.35));
  const crashing = faults.some((fault) => fault === 'server crash' || fault === 'agent crash');
  const interval = random.pick([2, 5, 5]);
  // A deployed client that lost its connection notices only when its configuration grows old (sheet §5.5).
  const lifetime = nodes.some(({ dialect }) => dialect === 'chef2') ? 60 : random.pick([3600, 3600, 3600, 30]);
  const offline = random.pick([3, 3, 2, 4]);
  const servers = Array.from({ length: sizes.servers ?? (random.chance(0.2) ? 2 : 1) }, (_, index): ServerPlan => {
    return { name: `s${index}`, host: HOST };
  });
  return {
    servers,
    nodes,
    faults,
    faultEveryMs: random.pick([2_000, 5_000, 15_000]),
    crashPerStep: crashing && random.chance(0.5) ? random.pick([0.001, 0.003, 0.01]) : 0,
    chaosMs: sizes.chaosMs ?? random.integer(10_000, 45_000),
    jobs: sizes.jobs ?? random.integer(1, 4),
    commitMs: random.pick([0, 0, 1, 10, 100]),
    config: {
      ...base,
      heartbeat: {
        ...base.heartbeat,
        interval,
        offline_threshold: offline,
        online_threshold: random.pick([2, 2, 1, 3]),
      },
      command: { ...base.command, admission: random.pick([60, 20]), config_lifetime: lifetime },
      push: {
        ...base.push,
        linger: 2,
        org_feed_history: 20,
        output_limit: random.pick([10_000, 2_000]),
        aborting_timeout: random.chance(0.3) ? random.pick([1, 10]) : interval * offline + 5,
      },
    },
  };
}

/** A job on some of the nodes; now and then one of them does not exist. */
export function makeJob(
  random: Random,
  jobId: string,
  names: readonly string[],
): { readonly spec: PushJobSpec; readonly nodes: readonly string[] } {
  const chosen = names.filter(() => random.chance(0.75));
  const nodes = random.chance(0.1) || chosen.length === 0 ? [...chosen, 'nobody'] : chosen;
  const maybe = <T>(probability: number, value: () => T): T | null => (random.chance(probability) ? value() : null);
  // One that stops at its first failure, and fails.
  const braked = random.chance(0.15);
  const durationMs = braked ? random.pick([0, 50, 1_000]) : random.pick([0, 50, 1_000, 6_000, 20_000, 600_000]);
  const command = random.chance(0.05)
    ? 'forbidden'
    : `work ${jobId} ${durationMs} ${random.chance(braked ? 0.6 : 0.2) ? 3 : 0} ${random.pick([0, 10, 3_000, 15_000])}`;
  return {
    nodes,
    spec: {
      command,
      options: {},
      capture: random.chance(0.5),
      quorum: braked ? 0 : random.chance(0.3) ? nodes.length : random.integer(0, nodes.length),
      runTimeout: random.pick([3, 10, 30]),
      votingTimeout: random.pick([1, 3, 8, 20]),
      ackTimeout: maybe(0.2, () => random.integer(1, 5)),
      nodeTimeout: maybe(0.3, () => random.integer(1, 8)),
      concurrency: braked ? 1 : maybe(0.3, () => random.integer(1, 2)),
      startRate: maybe(0.2, () => random.pick([0.5, 1, 10])),
      maxFailures: braked ? 0 : maybe(0.3, () => random.integer(0, 1)),
      ...(random.chance(0.4) && {
        batches: random.pick([[1], [2], [1, 2], [1, nodes.length]]),
        ...random.pick<Pick<PushJobSpec, 'batchPause' | 'batchConfirm'>>([
          {},
          { batchPause: random.pick([0.5, 4]) },
          { batchConfirm: true as const },
        ]),
      }),
      ...(random.chance(0.3) && { onFailures: random.pick(['hold', 'hold', 'abort'] as const) }),
      ...(random.chance(0.5) && { waitTimeout: random.pick([1, 10, 30]) }),
      target: 'simulation',
    },
  };
}
