import { type JobSpec, loadConfig } from '@muster/server';
import { insert, type MemoryDatabase, openMemory } from '@muster/store';
import { MusterError } from '@muster/wire';
import { AgentProcess, type AgentWorld } from './agent-process.js';
import { ChefProcess } from './chef-process.js';
import type { DiskConditions } from './faulty-lane.js';
import { Commands, checkOwners, checkSilence, Deadlines } from './invariants.js';
import { NODE_KEYS, OTHER_NODE_KEYS } from './keys.js';
import { Ledger, short } from './ledger.js';
import { MachineRoom } from './machine-room.js';
import { Network } from './network.js';
import { ORG } from './node-request.js';
import type { Place } from './place.js';
import { Random } from './random.js';
import { Repetitions } from './repetitions.js';
import { Restarts } from './restarts.js';
import { makeJob, makeScenario, type Scenario, type Sizes } from './scenario.js';
import { ServerProcess } from './server-process.js';
import { Stage } from './stage.js';
import { Process, Timeline } from './timeline.js';
import { Violation } from './violation.js';

const BASE = loadConfig({ env: {}, flags: { 'log-level': 'silent' } });
/** What the timeouts of a job do not say: transport, commits, the turns of the mailbox. */
const SLACK_MS = 5_000;

const saveOrganization = insert('organizations', { id: 'text', name: 'text', created_at: 'integer' }, ['id']);

export interface WorldOptions extends Sizes {
  readonly print?: (line: string) => void;
}

/** One server, its nodes, the network between them, and everything that is known to be true of them. */
export class World extends Stage {
  readonly random: Random;
  readonly network: Network;
  readonly ledger: Ledger;
  readonly scenario: Scenario;
  readonly database: MemoryDatabase;
  readonly commands: Commands;
  readonly deadlines: Deadlines;
  readonly repetitions: Repetitions;
  readonly restarts: Restarts;
  readonly places: readonly Place[];
  readonly disk: DiskConditions;
  server: ServerProcess | null = null;
  serverSkewMs = 0;
  /** Since when the server watches without a break, by a clock that was not set. */
  attentiveFrom = 0;
  /** Acknowledged over REST: jobs, and aborts of jobs. */
  readonly accepted = new Set<string>();
  readonly aborted = new Set<string>();
  /** Refused over REST, with the word that nothing was stored. */
  readonly refused = new Set<string>();
  readonly specs = new Map<string, JobSpec>();
  #jobs = 0;
  #downSince = 0;

  private constructor(seed: number, database: MemoryDatabase, options: WorldOptions) {
    super(options.print ?? null);
    this.database = database;
    const random = new Random(seed);
    this.scenario = makeScenario(random.fork(), BASE, options);
    this.random = random.fork();
    this.network = new Network(this.timeline, random.fork(), this.trace);
    this.ledger = new Ledger(this.trace, this.report);
    this.ledger.steadyClock = !this.scenario.faults.includes('server clock');
    this.commands = new Commands(this.ledger, this.report);
    this.deadlines = new Deadlines(this.ledger, this.report);
    this.repetitions = new Repetitions(this.report);
    this.restarts = new Restarts(this.report);
    this.disk = { delayMs: this.scenario.commitMs, failing: false, unknown: 0 };
    this.places = this.scenario.nodes.map((plan): Place => {
      const around = { timeline: this.timeline, random: random.fork(), trace: this.trace, diskMs: plan.diskMs };
      const room: MachineRoom = new MachineRoom(plan.name, around, {
        committed: (jobId) => this.commands.committed(plan.name, jobId),
        began: (jobId) => {
          this.trace.say(() => `${plan.name}: THE COMMAND of job ${short(jobId)} begins`);
          this.commands.began(plan.name, jobId, room.running.size);
          const agent = this.places.find((place) => place.room === room)?.agent;
          if (agent instanceof AgentProcess) agent.began.push(jobId);
        },
      });
      const { latencyMs, name } = plan;
      const path = { node: name, latencyMs, cut: false, drop: 0, duplicate: 0, reorder: 0, delayMs: 0, sent: 0 };
      return {
        plan,
        room,
        path,
        keys: NODE_KEYS,
        skewMs: 0,
        agent: null,
        audibleAt: this.timeline.now,
        stopping: false,
      };
    });
    this.network.repeated = (path) => {
      const place = this.places.find((other) => other.path === path);
      if (place !== undefined) this.repetitions.arrives(place);
    };
    this.network.spoken = ({ process }, { process: listener }) => {
      const place = this.places.find(({ agent }) => agent?.process === listener);
      if (place !== undefined && this.server?.process === process) this.restarts.spoken(place);
    };
  }

  static async create(seed: number, options: WorldOptions): Promise<World> {
    const clock = new Process('setup', new Timeline()).clock;
    const database = await openMemory(clock);
    const setup = database.connect({ clock });
    await setup.commit([saveOrganization({ id: ORG.id, name: ORG.name, created_at: 0 })]);
    await setup.close();
    return new World(seed, database, options);
  }

  protected override check(): void {
    const { server } = this;
    const { now } = this.timeline;
    this.repetitions.check();
    for (const place of this.places) {
      this.commands.observe(place);
      const { agent, path } = place;
      if (agent !== null && agent.process.frozenUntil <= now && !path.cut) place.audibleAt = now + path.delayMs;
    }
    if (server === null || !server.ready) return;
    checkOwners(server, this.ledger, this.report);
    this.restarts.check(server);
    if (server.process.frozenUntil > now) {
      this.attentiveFrom = server.process.frozenUntil;
      return;
    }
    this.deadlines.check(now);
    checkSilence(server, this.places, now, Math.max(this.attentiveFrom, server.readyAt), this.silenceMs, this.report);
  }

  // --- the server

  async startServer(): Promise<void> {
    const { timeline, network, trace, ledger, database, disk, report } = this;
    const config = this.scenario.config;
    this.trace.say(() => 'the server starts');
    const random = this.random.fork();
    const skewMs = this.serverSkewMs;
    const server = new ServerProcess({
      timeline,
      network,
      random,
      trace,
      ledger,
      database,
      disk,
      config,
      skewMs,
      report,
    });
    this.server = server;
    if (this.#downSince > 0) this.deadlines.postpone(timeline.now - this.#downSince + this.recoveryMs);
    await server.start();
  }

  crashServer(): void {
    const { server } = this;
    if (server === null) return;
    this.trace.say(() => 'the server CRASHES');
    server.kill();
    this.#gone();
  }

  async stopServer(): Promise<void> {
    const { server } = this;
    if (server === null || !this.#answers(server)) return;
    this.trace.say(() => 'the server is told to stop');
    this.#downSince = this.timeline.now;
    await server.stop();
    if (this.server !== server) return;
    server.kill();
    this.#gone();
  }

  #gone(): void {
    this.server = null;
    this.#downSince = this.timeline.now;
    this.trace.say(() => 'the server is gone');
  }

  /** Push Jobs §4.4: after so much silence a node is down, counted from when a returning one can have been heard. */
  get silenceMs(): number {
    const { interval, offline_threshold: offline, online_threshold: online } = this.scenario.config.heartbeat;
    return (2 + online + offline + 1) * interval * 1000 + SLACK_MS;
  }

  /** As the shipped controller counts it: until every live node has reported to a new server. */
  get recoveryMs(): number {
    const { interval, offline_threshold: offline, online_threshold: online } = this.scenario.config.heartbeat;
    return (interval * (offline + online + 3) + 5) * 1000;
  }

  // --- nodes

  startAgent(place: Place): void {
    if (place.agent !== null) return;
    const { timeline, network, trace, report } = this;
    this.trace.say(() => `${place.plan.name} starts`);
    const world: AgentWorld = {
      timeline,
      network,
      trace,
      report,
      random: this.random.fork(),
      org: ORG.name,
      server: () => this.server,
    };
    const Agent = place.plan.dialect === 'native' ? AgentProcess : ChefProcess;
    const agent = new Agent(world, place.room, place.path, place.keys, place.skewMs);
    place.agent = agent;
    place.stopping = false;
    void agent.start();
  }

  crashAgent(place: Place): void {
    if (place.agent === null) return;
    this.trace.say(() => `the agent of ${place.plan.name} CRASHES`);
    place.agent.kill();
    place.agent = null;
  }

  async stopAgent(place: Place): Promise<void> {
    const { agent } = place;
    if (agent === null || place.stopping || agent.process.frozenUntil > this.timeline.now) return;
    this.trace.say(() => `${place.plan.name} is told to stop`);
    place.stopping = true;
    await agent.stop();
    if (place.agent !== agent) return;
    place.agent = null;
    this.trace.say(() => `${place.plan.name} has stopped`);
  }

  powerCut(place: Place): void {
    this.crashAgent(place);
    place.room.powerOff();
  }

  /** Another disk, another key, the same name. */
  reinstall(place: Place): void {
    this.powerCut(place);
    place.room.files.clear();
    place.keys = place.keys === NODE_KEYS ? OTHER_NODE_KEYS : NODE_KEYS;
    this.trace.say(() => `${place.plan.name} is installed anew`);
  }

  // --- REST

  async submit(): Promise<void> {
    this.#jobs += 1;
    const jobId = `${'0'.repeat(28)}${String(this.#jobs).padStart(4, '0')}`;
    const names = this.places.map(({ plan }) => plan.name);
    const { spec, nodes } = makeJob(this.random, jobId, names);
    await this.startJob(jobId, spec, nodes);
  }

  /** Settles as far as it can; the rest comes with the steps. */
  async startJob(jobId: string, spec: JobSpec, nodes: readonly string[]): Promise<void> {
    const { server } = this;
    if (server === null || !this.#answers(server)) return;
    this.specs.set(jobId, spec);
    this.trace.say(() => `REST: start job ${short(jobId)} on ${nodes.join(' ')} ${JSON.stringify(spec)}`);
    try {
      await server.startJob({ org: ORG, jobId, spec, requester: 'tester', nodes, denied: [] });
    } catch (error) {
      if (!(error instanceof MusterError) || error.code !== 'store_unavailable') throw error;
      this.trace.say(() => `REST: job ${short(jobId)} refused: ${error.message}`);
      this.refused.add(jobId);
      return;
    }
    this.trace.say(() => `REST: job ${short(jobId)} accepted`);
    this.accepted.add(jobId);
    if (!this.ledger.durable.jobs.has(jobId)) {
      this.report(new Violation('acknowledged is stored', `job ${short(jobId)} was accepted and is not stored`));
    }
    const aborting = this.scenario.config.push.aborting_timeout ?? 0;
    const phases = (spec.votingTimeout + spec.runTimeout + aborting) * 1000;
    this.deadlines.expect(jobId, this.timeline.now + phases + SLACK_MS);
  }

  async abort(jobId: string): Promise<void> {
    const { server } = this;
    if (server === null || !this.#answers(server)) return;
    this.trace.say(() => `REST: abort job ${short(jobId)}`);
    if (!(await server.push.abort(ORG.id, jobId, 'tester'))) return;
    this.trace.say(() => `REST: abort of job ${short(jobId)} accepted`);
    this.aborted.add(jobId);
    const phase = this.ledger.durable.jobs.get(jobId)?.phase;
    if (phase !== 'aborting' && phase !== 'finished') {
      this.report(new Violation('acknowledged is stored', `the abort of job ${short(jobId)} was accepted: ${phase}`));
    }
  }

  #answers({ ready, process }: ServerProcess): boolean {
    return ready && process.frozenUntil <= this.timeline.now;
  }

  close(): void {
    this.server?.kill();
    for (const { agent } of this.places) agent?.kill();
    this.database.close();
  }
}
