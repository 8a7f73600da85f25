import { DECLARED } from '@muster/server/compose';
import { type MemoryDatabase, openMemory } from '@muster/store';
import type { AgentMessage, ServerMessage } from '@muster/wire';
import type { RunOptions } from '../kernel/explore.js';
import type { DiskConditions } from '../kernel/faulty-lane.js';
import { Random } from '../kernel/random.js';
import { Stage } from '../kernel/stage.js';
import { Process, Timeline } from '../kernel/timeline.js';
import { Violation } from '../kernel/violation.js';
import { Checks } from './checks.js';
import { Ledger } from './ledger.js';
import { ORG } from './organization.js';
import { INTERVAL_MS, SimulatedRegistry } from './registry.js';
import { ServerLife } from './server-life.js';
import { Machine, type NodePlan } from './simulated-node.js';

const ANSWER_MS = 3_600_000;

/** What is on its way between a node and the server; the two ends have the same number. */
interface Link {
  up: boolean;
  /** Another one for each connection: what was sent over an old one does not arrive. */
  connection: number;
  /** When the last message in each direction arrives: they keep their order. */
  toServerAt: number;
  toNodeAt: number;
}

/** The shipped layer of queues and tasks, with nodes, disk and network as bad as any. */
export class World extends Stage {
  readonly random: Random;
  readonly ledger = new Ledger(this.report);
  readonly disk: DiskConditions;
  readonly machines: Machine[] = [];
  readonly checks: Checks;
  /** Tasks that somebody was told are stored. */
  readonly acknowledged = new Set<string>();
  readonly latencyMs: number;
  server: ServerLife | null = null;
  readonly database: MemoryDatabase;
  readonly #links = new Map<Machine, Link>();
  #known: ReadonlyMap<string, string | null>;

  private constructor(random: Random, database: MemoryDatabase, plans: readonly NodePlan[], options: RunOptions) {
    super(options.print ?? null);
    this.random = random;
    this.database = database;
    this.latencyMs = random.pick([0.2, 5, 80]);
    this.disk = { delayMs: random.pick([0, 2, 20]), failing: false, unknown: 0 };
    this.checks = new Checks(this);
    this.#known = new Map(plans.map(({ name }) => [name, null]));
    for (const plan of plans) {
      const world = {
        timeline: this.timeline,
        random: random.fork(),
        trace: this.trace,
        ledger: this.ledger,
        toServer: (machine: Machine, message: AgentMessage) => this.#toServer(machine, message),
      };
      const machine = new Machine(world, plan);
      this.machines.push(machine);
      this.#links.set(machine, { up: true, connection: 0, toServerAt: 0, toNodeAt: 0 });
    }
  }

  static async open(seed: number, options: RunOptions): Promise<World> {
    const random = new Random(seed);
    const { clock } = new Process('the world', new Timeline());
    const database = await openMemory(clock, DECLARED.migrations);
    await database.read
      .insertInto('organizations')
      .values({ ...ORG, created_at: 0 })
      .execute();
    const plans = Array.from({ length: random.integer(1, 4) }, (_, index) => ({
      name: `n${index + 1}`,
      max: random.integer(1, 3),
      plugins: random.chance(0.2) ? ['a'] : ['a', 'b'],
      runMs: random.pick([5, 200, 2000]),
    }));
    return new World(random, database, plans, options);
  }

  protected override check(): void {
    // Every commit is looked at when it is made.
  }

  /** Lets things happen until this is answered; for at most a virtual hour. */
  async until(answer: Promise<unknown>): Promise<void> {
    let over = false;
    const done = (): void => {
      over = true;
    };
    answer.then(done, done);
    const latest = this.timeline.now + ANSWER_MS;
    await this.settle();
    while (!over && this.violation === null) if (!(await this.step(latest))) break;
    if (!over && this.violation === null) this.report(new Violation('answers', 'somebody waits for ever'));
  }

  // --- lives

  async startServer(): Promise<void> {
    this.trace.say(() => 'the server starts');
    const process = new Process('server', this.timeline);
    const registry = new SimulatedRegistry(ORG, process, this.#known, (name, message) => this.#toNode(name, message));
    const life = new ServerLife(this, process, registry);
    this.server = life;
    await life.start();
    if (this.server !== life) return;
    for (const machine of this.machines) this.connect(machine);
  }

  killServer(): void {
    this.trace.say(() => 'the server is killed');
    if (this.server !== null) this.#known = this.server.registry.known;
    this.server?.process.die();
    this.server = null;
  }

  async stopServer(): Promise<void> {
    this.trace.say(() => 'the server stops');
    const life = this.server;
    if (life === null) return;
    this.#known = life.registry.known;
    life.ready = false;
    await life.stop();
    if (this.server !== life) return;
    life.process.die();
    this.server = null;
  }

  startAgent(machine: Machine): void {
    if (machine.agent !== null) return;
    this.trace.say(() => `${machine.name}: the agent starts`);
    const agent = machine.start();
    const beat = (): void => {
      machine.beat();
      agent.clock.after(INTERVAL_MS, beat);
    };
    agent.clock.after(INTERVAL_MS, beat);
    this.connect(machine);
  }

  // --- links

  /** A new connection, if both ends are there: the node says who it is, as the first thing. */
  connect(machine: Machine): void {
    const link = this.#link(machine);
    link.connection += 1;
    const { connection } = link;
    if (!link.up || machine.agent === null || this.server === null) return;
    this.timeline.after(this.#delay(), machine.agent, () => {
      if (link.connection !== connection || !link.up) return;
      this.#toServer(machine, { type: 'heartbeat', state: 'ready', jobId: null, last: null });
      machine.greet();
    });
  }

  cut(machine: Machine): void {
    this.trace.say(() => `${machine.name}: cut off`);
    const link = this.#link(machine);
    link.up = false;
    link.connection += 1;
  }

  heal(machine: Machine): void {
    const link = this.#link(machine);
    if (link.up) return;
    this.trace.say(() => `${machine.name}: reachable again`);
    link.up = true;
    this.connect(machine);
  }

  #link(machine: Machine): Link {
    const link = this.#links.get(machine);
    if (link === undefined) throw new Error('no such machine');
    return link;
  }

  #delay(): number {
    return this.random.around(this.latencyMs);
  }

  #toServer(machine: Machine, message: AgentMessage): void {
    const link = this.#link(machine);
    const { connection } = link;
    const { incarnation } = machine;
    const life = this.server;
    if (!link.up || life === null) return;
    link.toServerAt = Math.max(link.toServerAt, this.timeline.now + this.#delay());
    this.timeline.after(link.toServerAt - this.timeline.now, life.process, () => {
      if (link.connection !== connection || this.server !== life || !life.ready) return;
      this.trace.say(() => `${machine.name} says ${said(message)}`);
      life.registry.received(machine.name, incarnation, message);
    });
  }

  #toNode(name: string, message: ServerMessage): void {
    const machine = this.machines.find((one) => one.name === name);
    if (machine === undefined || machine.agent === null) return;
    const link = this.#link(machine);
    const { connection } = link;
    const { agent } = machine;
    if (!link.up) return;
    link.toNodeAt = Math.max(link.toNodeAt, this.timeline.now + this.#delay());
    this.timeline.after(link.toNodeAt - this.timeline.now, agent, () => {
      if (link.connection !== connection || machine.agent !== agent) return;
      this.trace.say(() => `${name} is told ${said(message)}`);
      machine.receive(message);
    });
  }
}

function said(message: AgentMessage | ServerMessage): string {
  return JSON.stringify(message).slice(0, 300);
}
