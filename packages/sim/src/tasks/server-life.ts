import { loadConfig } from '@muster/platform/config';
import { createEvents, type Events } from '@muster/platform/log';
import { Metrics } from '@muster/platform/metrics';
import type { LayerLog } from '@muster/platform/upkeep';
import type { Batch, MemoryDatabase, Store } from '@muster/store';
import { createTasks, NO_SECRETS, type Tasks } from '@muster/tasks';
import { brief } from '../kernel/brief.js';
import type { Coverage } from '../kernel/coverage.js';
import { type DiskConditions, FaultyLane } from '../kernel/faulty-lane.js';
import type { Random } from '../kernel/random.js';
import type { Process, Timeline } from '../kernel/timeline.js';
import type { Trace } from '../kernel/trace.js';
import { Violation } from '../kernel/violation.js';
import { ORG } from './organization.js';
import type { SimulatedRegistry } from './registry.js';

const CONFIG = loadConfig({ env: {}, flags: {} });

export interface LifeWorld {
  readonly database: MemoryDatabase;
  readonly disk: DiskConditions;
  readonly timeline: Timeline;
  readonly random: Random;
  readonly trace: Trace;
  readonly coverage: Coverage;
  readonly checks: { stored(batch: Batch): void };
  readonly report: (violation: Violation) => void;
}

/** One life of the layer, with the event log below it. */
export class ServerLife {
  readonly process: Process;
  readonly registry: SimulatedRegistry;
  readonly tasks: Tasks;
  ready = false;
  readonly #events: Events;
  readonly #store: Store;

  constructor(world: LifeWorld, process: Process, registry: SimulatedRegistry) {
    this.process = process;
    this.registry = registry;
    const { clock } = process;
    const logger = this.#log(world);
    this.#store = world.database.connect({ clock, log: logger }, (lane) => {
      const reach = (what: string): void => world.coverage.reach(what);
      const around = { conditions: world.disk, timeline: world.timeline, process, random: world.random, reach };
      return new FaultyLane(lane, around, (batch) => world.checks.stored(batch));
    });
    const store = this.#store;
    this.#events = createEvents({
      store,
      clock,
      logger,
      config: CONFIG,
      organizationId: async () => ORG.id,
      organizationName: async () => ORG.name,
      openSubjects: [],
    });
    const base = {
      store,
      recorder: this.#events.recorder,
      clock,
      random: (size: number) => Uint8Array.from({ length: size }, () => world.random.integer(0, 255)),
      logger,
      metrics: new Metrics(),
      config: CONFIG,
      incarnation: 'simulated',
      serverName: 'simulated',
    };
    this.tasks = createTasks(base, { nodes: registry, secrets: NO_SECRETS });
  }

  async start(): Promise<void> {
    await this.#events.load();
    await this.tasks.load();
    if (!this.process.alive) return;
    await this.tasks.start();
    this.registry.start();
    this.ready = true;
  }

  async stop(): Promise<void> {
    await this.tasks.stop();
    await this.#events.stop();
    await this.#store.close();
  }

  #log(world: LifeWorld): LayerLog {
    const say = (details: object, message: string): void =>
      world.trace.say(() => `server: ${message} ${brief(details)}`);
    return {
      debug: () => undefined,
      info: say,
      warn: say,
      error: (details, message) => {
        say(details, message);
        if (this.process.alive) world.report(new Violation('no errors', `${message} ${brief(details)}`));
      },
    };
  }
}
