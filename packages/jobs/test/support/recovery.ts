import { posix } from 'node:path';
import { type Broker, namesOf, organizationTopology, siteTopology, submissionTopology } from '@muster/broker';
import { Leases, type Store } from '@muster/store';
import { expect } from 'vitest';
import { blockedRows } from '../../src/recovery/enter.js';
import { recoverOf } from '../../src/recovery/messages.js';
import { RecoveryReaders } from '../../src/recovery/reader.js';
import type { ActiveStatus } from '../../src/status.js';
import {
  FileTrouble,
  type OpenSystem,
  type Systems,
  SystemTrouble,
  type TroubleKind,
} from '../../src/systems/types.js';
import { Failed, type Job, type Obstacle } from '../../src/types.js';
import { embeddedBrokers, type MakeBrokers, type TestBrokers } from './brokers.js';
import { type JobFixture, newJob, ORG, openJobs, QUEUE } from './jobs.js';

/** Systems that are played: what opening them does, and what is killed there. */
export class PlayedSystems implements Systems {
  readonly trouble = new Map<string, TroubleKind | 'gone' | 'silent'>();
  readonly opened: string[] = [];
  readonly killed: string[] = [];
  kills: 'ended' | 'unsure' = 'ended';
  /** What is written there does not fit. */
  full = false;
  readonly written: string[] = [];
  readonly directories = new Set<string>();

  async open(_orgId: string, name: string): Promise<OpenSystem> {
    this.opened.push(name);
    const trouble = this.trouble.get(name);
    if (trouble === 'silent') return new Promise(() => undefined);
    if (trouble === 'gone') throw new Failed('JOB_REMOTE_ACCESS_ERROR', `there is no system ${name}`);
    if (trouble !== undefined) throw new SystemTrouble(name, trouble, `${name}: ${trouble}`);
    const files = {
      stat: async () => null,
      makeDirectory: async (path: string) => void this.directories.add(path),
      write: async (path: string) => {
        if (!this.directories.has(posix.dirname(path))) throw new FileTrouble(path, 'NOT_FOUND', 'no such directory');
        if (this.full) throw new SystemTrouble(name, 'DISK_FULL', `${name}: no space left`);
        this.written.push(path);
        return 0;
      },
      remove: async (path: string) => void this.written.push(`-${path}`),
    };
    const scheduler = {
      kill: async ({ uuid }: { uuid: string }) => {
        this.killed.push(uuid);
        return this.kills;
      },
    };
    const system = { name, root: '/scratch', scratch: 'jobs' };
    return { system, connection: { files }, scheduler } as unknown as OpenSystem;
  }

  async close(): Promise<void> {}
}

/** A reader on a real store and an embedded broker, in time that is moved. */
export class RecoveryFixture {
  readonly jobs: JobFixture;
  readonly broker: Broker;
  readonly #brokers: TestBrokers;
  readonly systems = new PlayedSystems();
  readonly errors: string[] = [];
  readonly logged: { readonly level: string; readonly text: string }[] = [];
  readers: RecoveryReaders;
  /** Published to the submission queue. */
  readonly submitted: { readonly job: string; readonly id: string }[] = [];

  constructor(jobs: JobFixture, broker: Broker, brokers: TestBrokers) {
    this.jobs = jobs;
    this.#brokers = brokers;
    this.broker = broker;
    this.readers = this.newReaders();
  }

  /** The broker is away for whoever publishes to submission queues. */
  away = false;

  get #breakable(): Broker {
    const publish: Broker['publish'] = async (message) => {
      if (this.away) throw new Error('the broker is away');
      await this.broker.publish(message);
    };
    return new Proxy(this.broker, {
      get: (broker, name) => {
        if (name === 'publish') return publish;
        const value = Reflect.get(broker, name, broker);
        return typeof value === 'function' ? value.bind(broker) : value;
      },
    });
  }

  get store(): Store {
    return this.jobs.store;
  }

  newReaders(holder = 'here', store: Store = this.store): RecoveryReaders {
    const { clock } = this.jobs;
    const log = (level: string) => (_details: object, text: string) => void this.logged.push({ level, text });
    return new RecoveryReaders({
      store,
      recorder: this.jobs.recorder,
      jobs: this.jobs.jobs,
      broker: this.#breakable,
      systems: this.systems,
      leases: new Leases({ store, clock, holder }),
      clock,
      log: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
      privateTargets: true,
    });
  }

  /** As a process starts, also again. */
  async start(): Promise<void> {
    this.readers.add(ORG);
    this.jobs.clock.advance(0);
    await expect.poll(() => this.readers.acting).toEqual([ORG.id]);
    // What fell due meanwhile.
    this.jobs.clock.advance(0);
  }

  async restart(afterMs = 0): Promise<void> {
    await this.readers.stop();
    this.jobs.clock.advance(afterMs);
    this.readers = this.newReaders();
    await this.start();
  }

  /** Takes what is published to the submission queue, as a worker does. */
  listen(): void {
    this.broker.consume(QUEUE, { slots: 1000 }, async (delivery) => {
      const { job } = JSON.parse(delivery.body.toString()) as { job: Job };
      this.submitted.push({ job: job.uuid, id: delivery.id });
      await delivery.ack();
    });
  }

  /** As a worker does it: with the rows in the same transaction, and a message after. */
  async block(job: Job, at: Obstacle, told = true): Promise<Job> {
    const rows = blockedRows(job, at, this.jobs.clock.now());
    const blocked = await this.jobs.jobs.change(
      job,
      { to: 'BLOCKED', condition: at.condition, message: at.message },
      rows,
    );
    if (told) await this.broker.publish(recoverOf(job, at, 'worker1'));
    return blocked;
  }

  /** A job that has come as far as this, and is blocked. */
  async blocked(
    uuid: string,
    at: Obstacle,
    status: ActiveStatus = 'STAGING_INPUTS',
    given: Partial<Job> = {},
  ): Promise<Job> {
    return this.block(await this.jobs.job(uuid, status, given), at);
  }

  /** So many at once, without a message of each: they are there when a reader starts. */
  async many(count: number, at: (n: number) => Obstacle): Promise<void> {
    const now = this.jobs.clock.now();
    for (let first = 0; first < count; first += 1000) {
      const numbers = Array.from({ length: Math.min(1000, count - first) }, (_, n) => first + n);
      await Promise.all(
        numbers.map(async (n) => {
          const job = newJob(`m${n}-007`, { accepted: now });
          await this.jobs.jobs.add(job, null);
          const pending = await this.jobs.jobs.change(job, { to: 'PENDING' });
          await this.jobs.jobs.change(pending, { to: 'BLOCKED' }, blockedRows(pending, at(n), now));
        }),
      );
    }
  }

  send(body: object): Promise<void> {
    return this.broker.publish({ exchange: namesOf(ORG.name).recoveryExchange, key: '', body: JSON.stringify(body) });
  }

  status = async (uuid: string) => (await this.jobs.read(uuid)).status;

  records = () => this.store.read.selectFrom('job_recovery').selectAll().orderBy('id').execute();

  /** Once its reader has seen it, and it stands so there. */
  async record(as: object) {
    const seen = async () => (await this.records()).filter((row) => row.next_attempt > 0);
    await expect.poll(seen).toMatchObject([as]);
    const [record] = await this.records();
    if (record === undefined) throw new Error('no record');
    return record;
  }

  rows = () => this.store.read.selectFrom('job_blocked').selectAll().orderBy('uuid').execute();

  /** Nothing is left of it. */
  async empty(): Promise<void> {
    await expect.poll(async () => [await this.records(), await this.rows()]).toEqual([[], []]);
  }

  async close(): Promise<void> {
    await this.readers.stop();
    await this.broker.close();
    await this.#brokers.drop();
    await this.jobs.close();
  }
}

export async function openRecovery(make: MakeBrokers = embeddedBrokers): Promise<RecoveryFixture> {
  const [jobs, brokers] = await Promise.all([openJobs(), make()]);
  const quiet = () => undefined;
  const broker = await brokers.open({
    store: jobs.store,
    clock: jobs.clock,
    log: { info: quiet, warn: quiet, error: quiet },
    holder: 'here',
    alone: true,
  });
  for (const topology of [siteTopology(), organizationTopology(ORG.name), submissionTopology(ORG.name, QUEUE)]) {
    await broker.declare(topology);
  }
  return new RecoveryFixture(jobs, broker, brokers);
}
