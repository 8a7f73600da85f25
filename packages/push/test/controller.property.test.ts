import { ManualClock } from '@muster/base';
import type { NodeRegistry, NodeView } from '@muster/nodes';
import { type ServerConfig, ServerConfigSchema } from '@muster/platform/config';
import { idOf, readFeedEntry } from '@muster/platform/feeds';
import { Recorder } from '@muster/platform/log';
import type { Store, Write } from '@muster/store';
import type { CommandResult, ServerMessage } from '@muster/wire';
import fc from 'fast-check';
import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { createPushController } from '../src/controller/controller.js';
import { PUSH_FEED } from '../src/events.js';
import { isFinal } from '../src/machine/job-node.js';
import type { ClaimResult, NodeOwners, OwningJobs, PushMessage } from '../src/ownership/types.js';
import type { PushJobNodeStatus, PushJobSpec } from '../src/types.js';

/**
 * The controller with both machines, against nodes whose messages are delivered late, lost or never sent, that go down
 * and come back. Whatever happens, the rules that the specification gives must hold after every step.
 */
const ORG = { id: '0'.repeat(32), name: 'default' };
const JOB = 'a'.repeat(32);

/** A node as the specification describes it (§5.7), without timers. */
class ModelNode {
  state: 'ready' | 'waiting' | 'running' = 'ready';
  job: string | null = null;
  last: CommandResult | null = null;
  runs = 0;
  up = true;
  owned = false;
  rehab = false;
  readonly inbox: ServerMessage[] = [];
  readonly outbox: PushMessage[] = [];

  receive(message: ServerMessage): void {
    switch (message.type) {
      case 'prepare':
        if (this.state === 'ready' && this.last?.jobId !== message.jobId) {
          this.state = 'waiting';
          this.job = message.jobId;
        }
        if (this.job === message.jobId && this.state === 'waiting')
          this.outbox.push({ type: 'ack', jobId: message.jobId });
        else this.outbox.push({ type: 'nack', jobId: message.jobId, reason: 'busy', currentJobId: this.job });
        return;
      case 'start':
        if (this.last?.jobId === message.jobId) return void this.#tellResult(this.last);
        if (this.job !== message.jobId) {
          return void this.outbox.push({ type: 'error', jobId: message.jobId, reason: 'start failed' });
        }
        if (this.state === 'waiting') this.runs += 1;
        this.state = 'running';
        this.outbox.push({ type: 'started', jobId: message.jobId });
        return;
      case 'abort':
        this.outbox.push({ type: 'aborted', jobId: this.job, from: this.state, settled: true });
        this.state = 'ready';
        this.job = null;
        this.rehab = false;
        return;
      default:
        return;
    }
  }

  finish(outcome: 'succeeded' | 'failed'): void {
    if (this.state !== 'running' || this.job === null) return;
    this.last = { jobId: this.job, outcome, exitCode: outcome === 'succeeded' ? 0 : 1, signal: null, reason: null };
    this.state = 'ready';
    this.job = null;
    this.#tellResult(this.last);
  }

  #tellResult(result: CommandResult): void {
    this.outbox.push({ type: 'finished', ...result, output: null, bytes: null });
  }
}

/** What was stored leaves in the promises' own continuations. */
const effects = () => new Promise<void>((resolve) => setImmediate(resolve));

class World implements Pick<Store, 'commit' | 'persist'> {
  readonly clock = new ManualClock();
  readonly nodes: Map<string, ModelNode>;
  /** Numbers of the events that readers of the feed heard of. */
  readonly events: number[] = [];
  readonly statuses = new Map<string, PushJobNodeStatus>();
  jobStatus = 'new';
  readyAtQuorum: number | null = null;
  #jobs: OwningJobs | undefined;
  #held: (() => void)[] | null = null;

  readonly controller;

  constructor(count: number) {
    this.nodes = new Map(Array.from({ length: count }, (_, i) => [`n${i}`, new ModelNode()]));
    const config = Value.Default(ServerConfigSchema, {}) as ServerConfig;
    const nodes: Pick<NodeRegistry, 'get' | 'send'> = {
      get: (_org, name) => ({ name, dialect: 'native' }) as unknown as NodeView,
      send: (_org, names, message) => {
        for (const name of names) this.node(name).inbox.push(message);
      },
    };
    const owners: NodeOwners = {
      attach: (jobs) => {
        this.#jobs = jobs;
      },
      ownerOf: () => undefined,
      placeOf: () => 0,
      readopt: () => undefined,
      claim: (_org, _job, names) =>
        new Map(names.map((name): [string, ClaimResult] => [name, this.#claim(this.node(name))])),
      release: (_org, _job, name, to) => {
        const node = this.node(name);
        node.owned = false;
        node.rehab = to === 'rehab';
        if (to === 'rehab') node.inbox.push({ type: 'abort' });
      },
    };
    const store = this as unknown as Store;
    const recorder = new Recorder({
      store,
      clock: this.clock,
      maxSize: 4096,
      organizationName: async () => null,
      failed: (error) => expect.fail(`${error}`),
    });
    recorder.onStored((events) => {
      for (const { position, atMs: at, event, subject } of events) {
        if (idOf(PUSH_FEED, subject) !== null) {
          this.events.push(readFeedEntry(PUSH_FEED, { position, at, event }).seq);
        }
      }
    });
    this.controller = createPushController({
      store,
      recorder,
      clock: this.clock,
      logger: {
        info: () => undefined,
        warn: () => undefined,
        error: (details) => expect.fail(JSON.stringify(details)),
      },
      nodes,
      owners,
      feed: { ended: () => undefined },
      counts: { jobEnded: () => undefined, jobNodeEnded: () => undefined },
      config,
    });
  }

  node(name: string): ModelNode {
    const node = this.nodes.get(name);
    if (node === undefined) throw new Error(name);
    return node;
  }

  get jobs(): OwningJobs {
    if (this.#jobs === undefined) throw new Error('not attached');
    return this.#jobs;
  }

  #claim(node: ModelNode): ClaimResult {
    if (!node.up) return { kind: 'down' };
    node.owned = true;
    return { kind: 'claimed' };
  }

  commit(writes: readonly Write[]): Promise<void> {
    return this.persist(writes);
  }

  /** Records what is stored, checks that nothing final changes, and is durable at once or when told. */
  persist(writes: readonly Write[]): Promise<void> {
    for (const { statement, row } of writes) {
      if (statement.table === 'push_job_nodes') {
        const name = String(row.node);
        const before = this.statuses.get(name);
        if (before !== undefined && isFinal(before)) expect(row.status, `${name} was final`).toBe(before);
        this.statuses.set(name, row.status as PushJobNodeStatus);
      }
      if (statement.table === 'push_jobs') {
        const final = !['new', 'voting', 'running'].includes(this.jobStatus);
        if (final) expect(row.status, 'the job was final').toBe(this.jobStatus);
        if (row.status === 'running' && this.jobStatus === 'voting') {
          this.readyAtQuorum = [...this.statuses.values()].filter((status) => status === 'ready').length;
        }
        this.jobStatus = String(row.status);
      }
    }
    const held = this.#held;
    return held === null ? Promise.resolve() : new Promise((resolve) => held.push(resolve));
  }

  /** While held, commits take for ever. */
  hold(): void {
    this.#held ??= [];
  }

  resume(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const resolve of held) resolve();
  }

  down(name: string): void {
    const node = this.node(name);
    node.up = false;
    node.inbox.length = 0;
    node.outbox.length = 0;
    if (!node.owned) return;
    node.owned = false;
    this.jobs.down(JOB, name);
  }
}

type Action =
  | { type: 'deliver to node' | 'deliver to server' | 'lose' | 'down' | 'succeed' | 'fail' | 'heartbeat'; node: number }
  | { type: 'advance'; ms: number }
  | { type: 'abort' | 'hold commits' | 'resume commits' | 'all nodes receive' | 'server receives all' };

const onNode = fc.record({
  type: fc.constantFrom(
    'deliver to node' as const,
    'deliver to server',
    'lose',
    'down',
    'succeed',
    'fail',
    'heartbeat',
  ),
  node: fc.nat(4),
});
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 24, arbitrary: onNode },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('advance' as const),
      ms: fc.oneof({ weight: 9, arbitrary: fc.nat(1000) }, { weight: 1, arbitrary: fc.nat(40_000) }),
    }),
  },
  { weight: 16, arbitrary: fc.record({ type: fc.constantFrom('all nodes receive' as const, 'server receives all') }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constantFrom('hold commits' as const, 'resume commits', 'resume commits') }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('abort' as const) }) },
);

function step(world: World, action: Action): void {
  switch (action.type) {
    case 'advance':
      return world.clock.advance(action.ms);
    case 'abort':
      return void world.controller.abort(ORG.id, JOB, 'tester');
    case 'hold commits':
      return world.hold();
    case 'resume commits':
      return world.resume();
    case 'all nodes receive':
    case 'server receives all': {
      const type = action.type === 'all nodes receive' ? 'deliver to node' : 'deliver to server';
      for (let node = 0; node < world.nodes.size; node++) step(world, { type, node });
      return;
    }
    default:
      break;
  }
  const name = `n${action.node % world.nodes.size}`;
  const node = world.node(name);
  switch (action.type) {
    case 'deliver to node': {
      const message = node.inbox.shift();
      if (message !== undefined && node.up) node.receive(message);
      return;
    }
    case 'deliver to server': {
      const message = node.outbox.shift();
      if (message !== undefined && node.owned) world.jobs.message(JOB, name, message);
      return;
    }
    case 'lose':
      node.inbox.length = 0;
      node.outbox.length = 0;
      return;
    case 'down':
      return world.down(name);
    case 'succeed':
      return node.finish('succeeded');
    case 'fail':
      return node.finish('failed');
    case 'heartbeat':
      if (node.owned) world.jobs.heartbeat(JOB, name, { state: node.state, jobId: node.job, last: node.last });
      return;
  }
}

const limits = fc.record({
  quorum: fc.oneof(fc.nat(3), fc.nat(6)),
  concurrency: fc.option(fc.integer({ min: 1, max: 3 })),
  startRate: fc.option(fc.integer({ min: 1, max: 5 })),
  maxFailures: fc.option(fc.nat(2)),
  ackTimeout: fc.option(fc.integer({ min: 1, max: 30 })),
  nodeTimeout: fc.option(fc.integer({ min: 1, max: 30 })),
});

describe('push jobs whatever happens', () => {
  it('no start before quorum, at most one run per node, final means final, and every job ends', async () => {
    await fc.assert(
      fc.asyncProperty(
        limits,
        fc.integer({ min: 1, max: 5 }),
        fc.array(action, { minLength: 20, maxLength: 200 }),
        async (some, count, actions) => {
          const world = new World(count);
          const spec: PushJobSpec = {
            ...some,
            command: 'x',
            options: {},
            capture: false,
            runTimeout: 100,
            votingTimeout: 60,
            target: 'test',
          };
          await world.controller.start({
            org: ORG,
            jobId: JOB,
            spec,
            requester: 'me',
            nodes: [...world.nodes.keys()],
            denied: [],
          });
          for (const action of actions) {
            step(world, action);
            await effects();
            const nodes = [...world.nodes.values()];
            for (const node of nodes) expect(node.runs).toBeLessThanOrEqual(1);
            if (nodes.some((node) => node.runs > 0)) expect(world.readyAtQuorum).toBeGreaterThanOrEqual(spec.quorum);
            const active = nodes.filter((node) => node.owned && node.state === 'running').length;
            if (spec.concurrency !== null) expect(active).toBeLessThanOrEqual(spec.concurrency);
          }
          // Time alone must end the job: voting, running and aborting each have a limit.
          world.resume();
          await effects();
          for (const ms of [61_000, 101_000, 60_000]) world.clock.advance(ms);
          await effects();
          expect(world.controller.isLive(JOB) ? world.jobStatus : 'ended').not.toMatch(/^(new|voting|running)$/);
          for (const [name, status] of world.statuses) expect(isFinal(status), `${name} is ${status}`).toBe(true);
          for (const [name, node] of world.nodes) expect(node.owned, `${name} is still owned`).toBe(false);
          expect(world.events).toEqual(world.events.map((_, i) => i + 1));
          await world.controller.stop();
        },
      ),
      { numRuns: 300 },
    );
  });
});
