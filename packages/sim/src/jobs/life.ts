import type { Broker } from '@muster/broker';
import {
  Acceptance,
  type App,
  createJobWorkers,
  entryIds,
  JobCommands,
  JobStore,
  RecoveryReaders,
} from '@muster/jobs/parts';
import { loadConfig } from '@muster/platform/config';
import type { Base } from '@muster/platform/layers';
import { createEvents, type Events } from '@muster/platform/log';
import { Metrics } from '@muster/platform/metrics';
import type { LayerLog } from '@muster/platform/upkeep';
import { type Lane, Leases, type MemoryDatabase, type Store } from '@muster/store';
import { brief } from '../kernel/brief.js';
import type { Coverage } from '../kernel/coverage.js';
import { type DiskConditions, FaultyLane } from '../kernel/faulty-lane.js';
import type { Random } from '../kernel/random.js';
import { Process, type Timeline } from '../kernel/timeline.js';
import type { Trace } from '../kernel/trace.js';
import { Violation } from '../kernel/violation.js';
import type { Checks } from './checks.js';
import { hintsOf, readingOf } from './gate.js';
import type { Moment } from './moments.js';
import type { OneAtATime } from './one-at-a-time.js';
import { ORG, QUEUE } from './organization.js';
import type { RemoteSystem } from './remote/system.js';
import { SimulatedSystems } from './remote/systems.js';
import { appOf } from './wordcount.js';

const CONFIG = loadConfig({ env: {}, flags: {} });

/** Troubles that are told as errors, and are nobody's fault here. */
const EXPECTED = [
  'a job was accepted and its row could not be stored yet',
  'a job was refused, and yet may be run',
  'the lease of the worker is lost',
  'the worker could not go on under a new name',
];

export interface LifeWorld {
  readonly database: MemoryDatabase;
  readonly lanes: OneAtATime;
  readonly disk: DiskConditions;
  readonly reads: { failing: boolean };
  readonly timeline: Timeline;
  readonly random: Random;
  readonly trace: Trace;
  readonly coverage: Coverage;
  readonly checks: Checks;
  readonly systems: ReadonlyMap<string, RemoteSystem>;
  readonly latencyMs: number;
  readonly report: (violation: Violation) => void;
  /** The broker as this process has it. */
  broker(process: Process, store: Store, log: LayerLog, holder: string): Promise<Broker>;
  /** It has done such a thing, and is not told yet. */
  met(holder: string, at: Moment): void;
  /** A worker of it has ended by itself. */
  fell(life: ProcessLife): void;
}

export interface Member {
  readonly name: string;
  readonly slots: number;
}

/** One life of a process that takes jobs, works on them and recovers them. */
export class ProcessLife {
  readonly process: Process;
  readonly holder: string;
  readonly store: Store;
  ready = false;
  /** What people ask of it; null before it has started. */
  front: { readonly acceptance: Acceptance; readonly commands: JobCommands; readonly broker: Broker } | null = null;
  readonly jobs: JobStore;
  readonly #world: LifeWorld;
  readonly #member: Member;
  readonly #log: LayerLog;
  readonly #events: Events;
  #stops: (() => Promise<void>)[] = [];

  constructor(world: LifeWorld, member: Member, life: number, skewMs: number) {
    this.#world = world;
    this.#member = member;
    this.holder = `${member.name}-${life}`;
    this.process = new Process(this.holder, world.timeline);
    const { process } = this;
    process.skewMs = skewMs;
    const { clock } = process;
    this.#log = this.#makeLog();
    const { database, disk, timeline, random, coverage, checks } = world;
    const faulty = (lane: Lane): Lane => {
      const reach = (what: string): void => coverage.reach(what);
      const around = { conditions: disk, timeline, process, random, reach };
      return new FaultyLane(world.lanes.lane(lane), around, (batch) => {
        for (const moment of checks.stored(this.holder, batch)) world.met(this.holder, moment);
      });
    };
    const store = database.connect({ clock, log: this.#log }, faulty, readingOf(process, world));
    this.store = { ...store, hints: hintsOf(process, store.hints, timeline) };
    this.#events = createEvents({
      store: this.store,
      clock,
      logger: this.#log,
      config: CONFIG,
      organizationId: async () => ORG.id,
      organizationName: async () => ORG.name,
      openSubjects: [],
    });
    const nextId = entryIds(clock, this.#bytes);
    this.jobs = new JobStore({ store: this.store, recorder: this.#events.recorder, clock, nextId });
  }

  async start(): Promise<void> {
    const { process, store, jobs, holder } = this;
    const { clock } = process;
    const world = this.#world;
    const log = this.#log;
    await this.#events.load();
    const broker = await world.broker(process, store, log, holder);
    this.#stops.unshift(() => broker.close());
    const systems = new SimulatedSystems({ ...world, witness: world.checks }, process, holder);
    const defined = [...world.systems.values()].map(({ definition }) => definition);
    const found = {
      list: async () => defined,
      defaultOf: async () => defined.find((one) => one.default) ?? null,
      find: async (_org: string, name: string) => defined.find((one) => one.name === name) ?? null,
    };
    const apps = { find: (orgId: string, id: string) => this.#app(orgId, id) };
    const base: Base = {
      store,
      recorder: this.#events.recorder,
      clock,
      random: this.#bytes,
      logger: log,
      metrics: new Metrics(),
      config: CONFIG,
      incarnation: holder,
      serverName: holder,
    };
    const workers = createJobWorkers(base, { broker, jobs, systems, defined: found, apps, version: '1' });
    this.#stops.unshift(() => workers.stop());
    const { name, slots } = this.#member;
    await workers.add({ organization: ORG, name, queue: QUEUE, slots, ended: () => world.fell(this) });
    const leases = new Leases({ store, clock, holder });
    const { recorder } = base;
    const recovering = { store, recorder, jobs, broker, systems, leases, clock, log, privateTargets: true };
    const readers = new RecoveryReaders(recovering);
    this.#stops.unshift(() => readers.stop());
    readers.add(ORG);
    const queues = { choose: () => QUEUE };
    const { random } = base;
    this.front = {
      acceptance: new Acceptance({ store, jobs, broker, apps, systems: found, queues, clock, random, logger: log }),
      commands: new JobCommands({ jobs, broker, logger: log }),
      broker,
    };
    this.ready = true;
  }

  async #app(orgId: string, id: string): Promise<App | null> {
    const { read } = this.store;
    const rows = read.selectFrom('job_apps').select('enabled').where('org_id', '=', orgId).where('app_id', '=', id);
    const row = await rows.executeTakeFirst();
    return row === undefined ? null : appOf(row.enabled === 1);
  }

  /** In order: what it has is given back. */
  async stop(): Promise<void> {
    this.ready = false;
    for (const stop of this.#stops) await stop();
    await this.#events.stop();
    await this.store.close();
  }

  readonly #bytes = (size: number): Uint8Array =>
    Uint8Array.from({ length: size }, () => this.#world.random.integer(0, 255));

  #makeLog(): LayerLog {
    const { trace, report } = this.#world;
    const say = (details: object, message: string): void =>
      trace.say(() => `${this.holder}: ${message} ${brief(details)}`);
    return {
      debug: () => undefined,
      info: say,
      warn: say,
      error: (details, message) => {
        say(details, message);
        if (!this.process.alive || EXPECTED.some((words) => message.includes(words))) return;
        report(new Violation('no errors', `${message} ${brief(details)}`));
      },
    };
  }
}
