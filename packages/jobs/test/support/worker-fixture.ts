import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '@muster/base';
import { MusterError } from '@muster/base/errors';
import { type Broker, type Consumer, namesOf, workerKey } from '@muster/broker';
import { systemRandom } from '@muster/platform/auth';
import type { LayerLog } from '@muster/platform/upkeep';
import type { Store } from '@muster/store';
import { openRecorder } from '../../../platform/test/support/recorder.js';
import type { App } from '../../src/apps/types.js';
import { commandOf, submissionOf } from '../../src/messages.js';
import { HttpWeb } from '../../src/phases/web.js';
import { JobStore } from '../../src/repository/job-store.js';
import type { Job } from '../../src/types.js';
import { PACES, type Paces } from '../../src/worker/limits.js';
import { JobWorker } from '../../src/worker/worker.js';
import { embeddedBrokers, type MakeBrokers, type TestBrokers } from './brokers.js';
import { type JobFixture, newJob, ORG, openJobs, QUEUE } from './jobs.js';
import { PlayedSystems } from './played-systems.js';

export function newApp(given: Partial<App> = {}): App {
  return {
    uuid: 'a1',
    orgId: ORG.id,
    id: 'wc-1.0',
    name: 'wc',
    version: '1.0',
    label: '',
    shortDescription: '',
    longDescription: '',
    helpUri: null,
    tags: [],
    ontology: [],
    modules: [],
    executionSystem: null,
    executionType: 'CLI',
    parallelism: 'SERIAL',
    checkpointable: false,
    program: { kind: 'command', argv: ['/bin/true'] },
    deployment: null,
    defaults: { queue: null, nodeCount: null, processorsPerNode: null, memoryMb: null, maxSeconds: null },
    inputs: [],
    parameters: [],
    owner: 'jdoe',
    isPublic: true,
    enabled: true,
    revision: 1,
    created: 0,
    lastUpdated: 0,
    ...given,
  };
}

/** A process of its own: its own way to the database, which can be taken away. */
export interface Process {
  readonly broker: Broker;
  readonly store: Store;
  readonly worker: JobWorker;
  /** Why it ended by itself. */
  readonly ended: string[];
  /** What it logged, by message. */
  readonly logged: { readonly message: string; readonly details: object }[];
  /** `away`: nothing of it reaches the database, and it is told so; `faulty`: it cannot read; `cut`: it was killed. */
  reach: 'whole' | 'away' | 'faulty' | 'cut';
  stop(): Promise<void>;
}

const NO_DELAYS: Paces = { ...PACES, starts: { limit: 1e9, windowMs: 1 }, launches: { limit: 1e9, windowMs: 1 } };

/** Workers on a real store and broker, with systems that are played, in virtual time. */
export class WorkerFixture {
  readonly fixture: JobFixture;
  readonly #brokers: TestBrokers;
  /** Of processes that were not killed. */
  readonly #consumers = new Map<Broker, { readonly queue: string; readonly consumer: Consumer }[]>();
  readonly systems = new PlayedSystems();
  readonly apps = new Map<string, App>([['wc-1.0', newApp()]]);
  readonly processes: Process[] = [];
  defaultSystem: string | null = 'store';

  constructor(fixture: JobFixture, brokers: TestBrokers) {
    this.fixture = fixture;
    this.#brokers = brokers;
    this.systems.add('hpc1');
    this.systems.add('store');
  }

  get scheduler() {
    return this.systems.get('hpc1').scheduler;
  }

  async process(
    name = 'w1',
    { slots = 4, paces = NO_DELAYS, skewMs = 0 }: { slots?: number; paces?: Paces; skewMs?: number } = {},
  ): Promise<Process> {
    const { store: shared, clock: right } = this.fixture;
    const clock: Clock = {
      now: () => right.now() + skewMs,
      monotonic: () => right.monotonic(),
      after: (delayMs, work) => right.after(delayMs, work),
    };
    const logged: Process['logged'] = [];
    const ended: string[] = [];
    const note = (details: object, message: string): void => void logged.push({ details, message });
    const log: LayerLog = { debug: note, info: note, warn: note, error: note };
    const reach: { now: Process['reach'] } = { now: 'whole' };
    const store = reaching(shared, () => reach.now);
    // What is wrong with the worker's reads is not the broker's.
    const brokers = reaching(shared, () => (reach.now === 'faulty' ? 'whole' : reach.now));
    const broker = await this.#brokers.open({
      store: brokers,
      clock: right,
      log,
      holder: `p${this.processes.length + 1}`,
      alone: false,
    });
    this.#watch(broker);
    const recorder = await openRecorder(store, clock, () => undefined);
    const jobs = new JobStore({ store, recorder, clock, nextId: () => this.fixture.nextId() });
    const worker = new JobWorker({
      settings: { organization: ORG, name, queue: QUEUE, slots, host: 'h1', version: '1' },
      store,
      recorder,
      jobs,
      broker,
      ports: {
        systems: this.systems,
        apps: { find: async (_orgId, appId) => this.apps.get(appId) ?? null },
        places: { defaultSystem: async () => this.defaultSystem, systemAt: async () => null },
        web: new HttpWeb({ privateTargets: true }),
        clock,
        log,
      },
      clock,
      random: systemRandom,
      log,
      paces,
      ended: (why) => void ended.push(why),
    });
    const killed = (): void => {
      this.#consumers.delete(broker);
      void this.#brokers.kill(broker);
    };
    const made: Process = {
      broker,
      store,
      worker,
      ended,
      logged,
      get reach() {
        return reach.now;
      },
      set reach(now) {
        reach.now = now;
        if (now === 'cut') killed();
      },
      async stop() {
        await worker.stop();
        await broker.close();
      },
    };
    this.processes.push(made);
    await worker.start();
    return made;
  }

  /** As the front accepts it. */
  async submit(uuid: string, given: Partial<Job> = {}): Promise<Job> {
    const job = newJob(uuid, { accepted: this.fixture.clock.now(), lastUpdated: this.fixture.clock.now(), ...given });
    await this.#front().publish(submissionOf(job, null));
    await this.fixture.jobs.add(job, null);
    return job;
  }

  /** Its message alone, also of one that is stored. */
  async publish(job: Job, id?: string): Promise<void> {
    const message = submissionOf(job, null);
    await this.#front().publish(id === undefined ? message : { ...message, id });
  }

  /** As the front asks for it: stored first, then told. */
  async want(uuid: string, wanted: 'stop' | 'pause', { told = true } = {}): Promise<void> {
    for (;;) if (await this.fixture.jobs.want(await this.read(uuid), wanted, 'anna')) break;
    if (told)
      await this.#front().publish(commandOf(await this.read(uuid), wanted === 'stop' ? 'JOB_CANCEL' : 'JOB_PAUSE'));
  }

  async command(worker: string, body: object): Promise<void> {
    const { commandExchange: exchange } = namesOf(ORG.name);
    await this.#front().publish({ exchange, key: workerKey(worker), body: JSON.stringify(body) });
  }

  #front(): Broker {
    const alive = this.processes.find(({ reach }) => reach === 'whole' || reach === 'faulty');
    if (alive === undefined) throw new Error('no process is there that could publish');
    return alive.broker;
  }

  read(uuid: string): Promise<Job> {
    return this.fixture.read(uuid);
  }

  /** Until it is so: whatever is under way comes on, and no time passes. */
  async until(holds: () => boolean | Promise<boolean>, what = 'it'): Promise<void> {
    const end = performance.now() + 20_000;
    while (!(await holds())) {
      if (performance.now() > end) throw new Error(`${what} did not come`);
      await turn();
    }
  }

  /** As `until`, and time passes: what comes in time of its own, as a message does, is waited for from then on. */
  passUntil(holds: () => Promise<boolean>, what: string): Promise<void> {
    return this.until(async () => {
      await this.pass(500);
      return holds();
    }, what);
  }

  /** Until a job has this status. */
  async status(uuid: string, status: Job['status']): Promise<Job> {
    await this.until(async () => (await this.fixture.jobs.find(uuid))?.status === status, `${uuid} ${status}`).catch(
      async (error: unknown) => {
        const job = await this.fixture.jobs.find(uuid);
        const logs = this.processes.flatMap(({ logged }) => logged).slice(-10);
        const shown = logs.map(
          ({ message, details }) => `${message} ${String((details as { err?: unknown }).err ?? '')}`,
        );
        throw new Error(`${uuid} is ${job?.status} (${job?.lastMessage}); logged: ${shown.join(' | ')}`, {
          cause: error,
        });
      },
    );
    return this.read(uuid);
  }

  /** Time passes, with whatever happens on the way. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 500) {
      this.fixture.clock.advance(Math.min(left, 500));
      await this.settle();
    }
  }

  /** What was begun has come to the database and back. */
  async settle(): Promise<void> {
    for (let round = 0; round < 3; round++) {
      await this.fixture.store.transact(async () => undefined);
      await turn();
    }
  }

  async depth(queue = QUEUE): Promise<number> {
    const [depth] = await this.#front().depths([queue]);
    if (depth === null || depth === undefined) return 0;
    // RabbitMQ does not say what is in hand; who has it does, though not how often.
    const consumers = [...this.#consumers.values()].flat().filter((one) => one.queue === queue);
    return depth.ready + (depth.held ?? consumers.reduce((sum, { consumer }) => sum + consumer.held, 0));
  }

  /** Each message is in the hand of a worker, whatever is there of it besides. */
  get countsCopies(): boolean {
    return this.#front().kind === 'embedded';
  }

  #watch(broker: Broker): void {
    const consumers: { queue: string; consumer: Consumer }[] = [];
    this.#consumers.set(broker, consumers);
    const consume = broker.consume.bind(broker);
    broker.consume = (queue, ...how) => {
      const consumer = consume(queue, ...how);
      consumers.push({ queue, consumer });
      return consumer;
    };
  }

  history(uuid: string): Promise<readonly string[]> {
    return this.fixture.history(uuid);
  }

  async close(): Promise<void> {
    for (const process of this.processes) if (process.reach !== 'cut') process.reach = 'whole';
    await Promise.all(this.processes.filter(({ reach }) => reach === 'whole').map((process) => process.stop()));
    await this.#brokers.drop();
    await this.systems.close();
    await this.fixture.close();
  }
}

export async function openWorkers(make: MakeBrokers = embeddedBrokers): Promise<WorkerFixture> {
  const [jobs, brokers] = await Promise.all([openJobs(), make()]);
  return new WorkerFixture(jobs, brokers);
}

/** A store that can be taken away from who uses it. */
function reaching(store: Store, reach: () => Process['reach']): Store {
  const refused = (): Promise<never> => Promise.reject(new MusterError('store_unavailable', { reason: 'played' }));
  const through = <T>(work: () => Promise<T>): Promise<T> => {
    if (reach() === 'cut') return new Promise(() => undefined);
    return reach() === 'away' ? refused() : work();
  };
  return {
    kind: store.kind,
    get read() {
      if (reach() === 'faulty') throw new TypeError('a fault that is played');
      if (reach() !== 'whole') throw new MusterError('store_unavailable', { reason: 'played' });
      return store.read;
    },
    commit: (writes, stored) => through(() => store.commit(writes, stored)),
    persist: (writes) => through(() => store.persist(writes)),
    transact: (work) => through(() => store.transact(work)),
    health: () => store.health(),
    close: async () => undefined,
    hints: {
      send: (topic, text) => (reach() === 'whole' ? store.hints.send(topic, text) : undefined),
      listen: (topic, hear) => store.hints.listen(topic, (text) => (reach() === 'cut' ? undefined : hear(text))),
    },
  };
}
