import { posix } from 'node:path';
import { type Broker, EmbeddedBroker } from '@muster/broker';
import type { LayerLog } from '@muster/platform/upkeep';
import { DECLARED } from '@muster/server/compose';
import { type MemoryDatabase, openMemory, type Store } from '@muster/store';
import type { RunOptions } from '../kernel/explore.js';
import type { DiskConditions } from '../kernel/faulty-lane.js';
import { Random } from '../kernel/random.js';
import { Stage } from '../kernel/stage.js';
import { Process, Timeline } from '../kernel/timeline.js';
import { Violation } from '../kernel/violation.js';
import { SimulatedBroker } from './broker/client.js';
import { BrokerServer, type Kept } from './broker/server.js';
import { Checks } from './checks.js';
import { type Member, ProcessLife } from './life.js';
import type { Mishap, Moment } from './moments.js';
import { OneAtATime } from './one-at-a-time.js';
import { APP, HPC, INPUT, ORG, QUEUE, STORAGE } from './organization.js';
import { RemoteSystem } from './remote/system.js';
import { appOf } from './wordcount.js';

const ANSWER_MS = 3_600_000;
const MESSAGE = /^([\da-f-]{36}-007)(?:\.|$)/;

/** The shipped code of jobs, with processes, broker, database and systems as bad as any. */
export class World extends Stage {
  readonly random: Random;
  readonly database: MemoryDatabase;
  readonly lanes = new OneAtATime();
  readonly disk: DiskConditions;
  readonly reads = { failing: false };
  readonly checks: Checks;
  readonly systems: ReadonlyMap<string, RemoteSystem>;
  readonly latencyMs: number;
  readonly members: readonly Member[];
  /** null: messages are in the database. */
  readonly brokerServer: BrokerServer | null;
  /** By the names of members; those that are down are missing. */
  readonly lives = new Map<string, ProcessLife>();
  /** What becomes of whoever comes to the next moment of this kind. */
  ambush: { readonly at: Moment; readonly what: Mishap } | null = null;
  readonly #clients = new Map<ProcessLife, SimulatedBroker>();
  #lives = 0;
  /** By process: what the wall clock of its host is off by. */
  readonly #skews = new Map<string, number>();

  private constructor(random: Random, database: MemoryDatabase, options: RunOptions) {
    super(options.print ?? null);
    this.random = random;
    this.database = database;
    this.latencyMs = random.pick([1, 20, 200]);
    this.disk = { delayMs: random.pick([0, 2, 20]), failing: false, unknown: 0 };
    this.checks = new Checks(this);
    this.members = Array.from({ length: random.pick([1, 2, 2, 2, 3]) }, (_, index) => ({
      name: `w${index + 1}`,
      slots: random.integer(1, 4),
    }));
    const plan = {
      runMs: random.pick([200, 3_000, 15_000]),
      waitMs: random.pick([1, 2_000]),
      maxJobs: random.pick([0, 0, 0, 1, 2]),
      tells: random.chance(0.5),
    };
    this.systems = new Map(
      [HPC, STORAGE].map((name) => [
        name,
        new RemoteSystem({ ...plan, name, maxJobs: name === HPC ? plan.maxJobs : 0 }, this.timeline, random.fork()),
      ]),
    );
    const storage = this.system(STORAGE);
    const input = posix.join('/', INPUT.path);
    storage.makeDirectory(posix.dirname(input));
    storage.write(input, { bytes: Buffer.from(INPUT.text), mode: 0o600 });
    const gone = (message: Kept): void => this.#acknowledged(message);
    this.brokerServer = random.chance(0.8) ? new BrokerServer(random.fork(), gone) : null;
  }

  static async open(seed: number, options: RunOptions): Promise<World> {
    const { clock } = new Process('the world', new Timeline());
    const database = await openMemory(clock, DECLARED.migrations);
    const world = new World(new Random(seed), database, options);
    await world.#describe();
    return world;
  }

  /** The rows at which testers look. */
  async #describe(): Promise<void> {
    const { read } = this.database;
    await read
      .insertInto('organizations')
      .values({ ...ORG, created_at: 0 })
      .execute();
    for (const { definition } of this.systems.values()) {
      const { id, uuid, orgId: org_id, name, type, owner, queues, maxJobs } = definition;
      await read
        .insertInto('job_systems')
        .values({
          ...{ id, uuid, org_id, name, type, owner, enabled: 1, is_default: 0, secret: null },
          ...{ definition: JSON.stringify({ queues, maxJobs }), created: 0, last_updated: 0 },
        })
        .execute();
    }
    const { uuid, owner } = appOf(true);
    await read
      .insertInto('job_apps')
      .values({
        ...{ uuid, org_id: ORG.id, app_id: APP, enabled: 1, is_public: 1, owner },
        ...{ definition: '{}', created: 0, last_updated: 0 },
      })
      .execute();
  }

  /** Time passes, with all that happens meanwhile. */
  async pass(until: number): Promise<void> {
    await this.settle();
    while (this.violation === null && (await this.step(until)));
  }

  /** Several processes hear of the same commit, and each of them does something about it. */
  override async settle(): Promise<void> {
    await super.settle();
    await super.settle();
  }

  protected override check(): void {
    // Every commit, and every act on a system, is looked at when it is made.
  }

  system(name: string): RemoteSystem {
    const found = this.systems.get(name);
    if (found === undefined) throw new Error(`there is no system ${name}`);
    return found;
  }

  /** Lets things happen until this is answered, or whoever answers is gone; for at most a virtual hour. */
  async until(answer: Promise<unknown>, { alive }: { readonly alive: () => boolean }): Promise<void> {
    let over = false;
    const done = (): void => {
      over = true;
    };
    answer.then(done, done);
    const latest = this.timeline.now + ANSWER_MS;
    await this.settle();
    while (!over && alive() && this.violation === null) if (!(await this.step(latest))) break;
    if (!over && alive() && this.violation === null) this.report(new Violation('answers', 'somebody waits for ever'));
  }

  // --- processes

  /** It starts, and starts again after a while when that cannot be. */
  begin(member: Member): void {
    if (this.lives.has(member.name)) return;
    this.#lives += 1;
    const life = new ProcessLife(this, member, this.#lives, this.#skews.get(member.name) ?? 0);
    this.lives.set(member.name, life);
    this.trace.say(() => `${life.holder} starts`);
    life.start().catch((error: unknown) => {
      this.trace.say(() => `${life.holder} cannot start: ${String(error)}`);
      this.fell(life);
    });
  }

  /** The host of a process has another wall clock from now on, also for those that start there later. */
  skew(member: Member, skewMs: number): void {
    this.#skews.set(member.name, skewMs);
    const life = this.lives.get(member.name);
    if (life !== undefined) life.process.skewMs = skewMs;
    this.trace.say(() => `the clock of ${member.name} is off by ${Math.round(skewMs)} ms`);
  }

  /** Nothing of it runs any more. */
  kill(member: Member): void {
    const life = this.lives.get(member.name);
    if (life === undefined) return;
    this.trace.say(() => `${life.holder} is killed`);
    this.lives.delete(member.name);
    life.process.die();
    this.#clients.get(life)?.died();
  }

  /** In order, and what it has is given back. */
  async stop(member: Member): Promise<void> {
    const life = this.lives.get(member.name);
    if (life?.ready !== true) return this.kill(member);
    this.trace.say(() => `${life.holder} stops`);
    await this.until(life.stop(), { alive: () => life.process.alive });
    this.kill(member);
  }

  /** As whatever looks after processes does it. */
  readonly fell = (life: ProcessLife): void => {
    const member = this.members.find(({ name }) => this.lives.get(name) === life);
    if (member === undefined || !life.process.alive) return;
    this.coverage.reach('a process ends by itself');
    this.kill(member);
    this.timeline.after(1_000, null, () => this.begin(member));
  };

  /** Somebody has come to such a moment. */
  met(holder: string, at: Moment): void {
    const life = [...this.lives.values()].find((one) => one.holder === holder);
    const member = this.members.find(({ name }) => this.lives.get(name) === life);
    if (this.ambush?.at !== at || life === undefined || member === undefined || this.violation !== null) return;
    const { what } = this.ambush;
    this.ambush = null;
    this.trace.say(() => `${holder} ${what} after a ${at}`);
    this.coverage.reach(`fault: ${what} after a ${at}`);
    switch (what) {
      case 'dies':
        this.kill(member);
        this.timeline.after(this.random.pick([10, 1_000, 8_000]), null, () => this.begin(member));
        return;
      case 'stands still':
        life.process.frozenUntil = this.timeline.now + this.random.pick([7_000, 15_000]);
        return;
      case 'misses the database':
        this.disk.failing = true;
        this.reads.failing = true;
        this.timeline.after(this.random.pick([500, 3_000]), null, () => this.databaseBack());
    }
  }

  databaseBack(): void {
    this.disk.failing = false;
    this.reads.failing = false;
  }

  ready(): ProcessLife[] {
    return [...this.lives.values()].filter(({ ready }) => ready);
  }

  // --- the broker

  async broker(process: Process, store: Store, log: LayerLog, holder: string): Promise<Broker> {
    const server = this.brokerServer;
    if (server === null) return EmbeddedBroker.open({ store, clock: process.clock, log, holder, alone: false });
    const world = {
      timeline: this.timeline,
      random: this.random.fork(),
      server,
      delayMs: () => this.latencyMs / 10,
      failed: (error: unknown) => log.error({ err: error }, 'the handler of a message failed'),
    };
    const client = new SimulatedBroker(process, world, holder);
    const life = [...this.lives.values()].find((one) => one.process === process);
    if (life !== undefined) this.#clients.set(life, client);
    return client;
  }

  /** All connections are lost; what is in its queues stays. */
  stopBroker(): void {
    if (this.brokerServer === null) return;
    this.trace.say(() => 'the broker stops');
    this.brokerServer.up = false;
    for (const client of this.#living()) client.lose();
  }

  startBroker(): void {
    if (this.brokerServer !== null) this.brokerServer.up = true;
  }

  loseConnection(): void {
    const client = this.random.some(this.#living());
    if (client === undefined) return;
    this.trace.say(() => `${client.holder}: its connection to the broker is lost`);
    client.lose();
  }

  /** As whoever publishes again after a doubt, with the same id or another. */
  duplicate(): void {
    const server = this.brokerServer;
    const message = this.random.some(server?.messages(QUEUE) ?? []);
    if (server === null || message === undefined) return;
    const id = this.random.chance(0.5) ? message.id : `${message.id}.again`;
    this.trace.say(() => `the message ${message.id} is there twice, as ${id}`);
    server.publish({ ...message, id });
  }

  /** Messages of jobs, in hand or not. */
  messagesOf(uuid: string): number {
    return (this.brokerServer?.messages(QUEUE) ?? []).filter(({ id }) => id.startsWith(uuid)).length;
  }

  #living(): SimulatedBroker[] {
    return [...this.lives.values()].flatMap((life) => this.#clients.get(life) ?? []);
  }

  #acknowledged({ queue, id }: Kept): void {
    const uuid = queue === QUEUE ? MESSAGE.exec(id)?.[1] : undefined;
    if (uuid !== undefined) this.checks.acknowledged(uuid, this.messagesOf(uuid) > 0);
  }
}
