import { MusterError } from '@muster/base';
import { nodesLayer } from '@muster/nodes';
import { loadConfig } from '@muster/platform/config';
import { platformLayer, together } from '@muster/platform/layers';
import { type PushJobSpec, pushLayer } from '@muster/push';
import { insert, type MemoryDatabase, openMemory } from '@muster/store';
import { tasksLayer } from '@muster/tasks';
import type { DiskConditions } from '../kernel/faulty-lane.js';
import { NODE_KEYS, OTHER_NODE_KEYS } from '../kernel/keys.js';
import { Random } from '../kernel/random.js';
import { Stage } from '../kernel/stage.js';
import { Process, Timeline } from '../kernel/timeline.js';
import { Violation } from '../kernel/violation.js';
import { Network } from '../kernel/zeromq/network.js';
import { AgentProcess, type AgentWorld } from './agent-process.js';
import { short } from './book.js';
import { ChefProcess } from './chef-process.js';
import { Commands, checkOwners, checkQueues, checkSilence, Deadlines } from './invariants.js';
import { Ledger } from './ledger.js';
import { MachineRoom } from './machine-room.js';
import { ORG } from './node-request.js';
import type { NodePlace, ServerPlace } from './places.js';
import { Rehab } from './rehab.js';
import { Repetitions } from './repetitions.js';
import { Restarts } from './restarts.js';
import { HOST, makeJob, makeScenario, type Scenario, type Sizes } from './scenario.js';
import type { ServerProcess } from './server-process.js';
import { Servers } from './servers.js';

/** Those of the server. */
const DECLARED = together([platformLayer, nodesLayer, pushLayer, tasksLayer]);

const BASE = loadConfig({ env: {}, flags: { 'log-level': 'silent' } });
/** What the timeouts of a job do not say: transport, commits, the turns of the server. */
const SLACK_MS = 5_000;

const saveOrganization = insert('organizations', { id: 'text', name: 'text', created_at: 'integer' }, ['id']);

export interface WorldOptions extends Sizes {
  readonly print?: (line: string) => void;
}

/** Servers over one database, their nodes, the network between them, and everything that is known to be true of them. */
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
  readonly servers: Servers;
  readonly nodes: readonly NodePlace[];
  readonly disk: DiskConditions;
  /** Acknowledged over REST: jobs, and aborts of jobs. */
  readonly accepted = new Set<string>();
  readonly aborted = new Set<string>();
  /** Refused over REST, with the word that nothing was stored. */
  readonly refused = new Set<string>();
  readonly specs = new Map<string, PushJobSpec>();
  readonly #phases = new Map<string, string>();
  readonly #rehab: Rehab;
  #jobs = 0;

  private constructor(seed: number, database: MemoryDatabase, options: WorldOptions) {
    super(options.print ?? null);
    this.database = database;
    const random = new Random(seed);
    this.scenario = makeScenario(random.fork(), BASE, options);
    this.random = random.fork();
    this.network = new Network(this.timeline, random.fork(), this.trace);
    this.ledger = new Ledger(this.trace, this.report, (what) => this.coverage.reach(what));
    this.ledger.steadyClock = !this.scenario.faults.includes('server clock');
    this.commands = new Commands(this.ledger, this.report);
    this.deadlines = new Deadlines(this.report);
    this.repetitions = new Repetitions(this.report);
    this.restarts = new Restarts(this.report);
    this.#rehab = new Rehab(this.report);
    this.disk = { delayMs: this.scenario.commitMs, failing: false, unknown: 0 };
    const { timeline, network, trace, ledger, disk, deadlines, report, recoveryMs } = this;
    this.servers = new Servers(
      {
        timeline,
        network,
        trace,
        ledger,
        database,
        disk,
        deadlines,
        report,
        recoveryMs,
        config: this.scenario.config,
      },
      this.scenario.servers,
      random.fork(),
    );
    this.nodes = this.scenario.nodes.map((plan): NodePlace => {
      const around = { timeline: this.timeline, random: random.fork(), trace: this.trace, diskMs: plan.diskMs };
      const room: MachineRoom = new MachineRoom(plan.name, around, {
        committed: (jobId) => this.commands.committed(plan.name, jobId),
        began: (jobId) => {
          this.trace.say(() => `${plan.name}: THE COMMAND of job ${short(jobId)} begins`);
          this.commands.began(plan.name, jobId, room.running.size);
          const agent = this.nodes.find((place) => place.room === room)?.agent;
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
      const place = this.nodes.find((other) => other.path === path);
      if (place !== undefined) this.repetitions.arrives(place);
    };
    this.network.spoken = ({ process }, { process: listener }) => {
      const place = this.nodes.find(({ agent }) => agent?.process === listener);
      const server = this.servers.running.find((each) => each.process === process);
      if (place !== undefined && server !== undefined) this.restarts.spoken(server, place);
    };
  }

  static async create(seed: number, options: WorldOptions): Promise<World> {
    const clock = new Process('setup', new Timeline()).clock;
    const database = await openMemory(clock, DECLARED.migrations);
    const setup = database.connect({ clock });
    await setup.commit([saveOrganization({ id: ORG.id, name: ORG.name, created_at: 0 })]);
    await setup.close();
    return new World(seed, database, options);
  }

  protected override check(): void {
    const { now } = this.timeline;
    this.repetitions.check();
    for (const place of this.nodes) {
      this.commands.observe(place);
      this.#reachAgent(place);
      const { agent, path } = place;
      if (agent !== null && agent.process.frozenUntil <= now && !path.cut) place.audibleAt = now + path.delayMs;
    }
    for (const place of this.servers.places) this.#checkServer(place);
    const { answering } = this.servers;
    if (answering.length > 0) this.deadlines.check(now, (jobId) => phaseOf(answering, jobId));
  }

  /** A native agent's machine has changed its phase. */
  #reachAgent({ agent, plan }: NodePlace): void {
    const phase = agent instanceof AgentProcess ? (agent.daemon?.machine.phase.kind ?? 'gone') : 'gone';
    const before = this.#phases.get(plan.name) ?? 'gone';
    if (phase === before) return;
    this.#phases.set(plan.name, phase);
    this.coverage.reach(`agent: ${before} to ${phase}`);
  }

  #checkServer(place: ServerPlace): void {
    const { nodes, report, silenceMs } = this;
    const { now } = this.timeline;
    const { server } = place;
    if (server === null || !server.ready) return;
    checkOwners(server, report);
    checkQueues(server, report);
    this.#rehab.check(server, nodes);
    this.restarts.check(server);
    if (server.process.frozenUntil > now) place.attentiveFrom = server.process.frozenUntil;
    else checkSilence(server, nodes, now, Math.max(place.attentiveFrom, server.readyAt), silenceMs, report);
  }

  // --- servers

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

  startAgent(place: NodePlace): void {
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
      host: HOST,
      serverOf: ({ process }) => this.servers.running.find((server) => server.process === process) ?? null,
    };
    const Agent = place.plan.dialect === 'native' ? AgentProcess : ChefProcess;
    const agent = new Agent(world, place.room, place.path, place.keys, place.skewMs);
    place.agent = agent;
    place.stopping = false;
    void agent.start();
  }

  crashAgent(place: NodePlace): void {
    if (place.agent === null) return;
    this.trace.say(() => `the agent of ${place.plan.name} CRASHES`);
    place.agent.kill();
    place.agent = null;
  }

  async stopAgent(place: NodePlace): Promise<void> {
    const { agent } = place;
    if (agent === null || place.stopping || agent.process.frozenUntil > this.timeline.now) return;
    this.trace.say(() => `${place.plan.name} is told to stop`);
    place.stopping = true;
    await agent.stop();
    if (place.agent !== agent) return;
    place.agent = null;
    this.trace.say(() => `${place.plan.name} has stopped`);
  }

  powerCut(place: NodePlace): void {
    this.crashAgent(place);
    place.room.powerOff();
  }

  /** Another disk, another key, the same name. */
  reinstall(place: NodePlace): void {
    this.powerCut(place);
    place.room.files.clear();
    place.keys = place.keys === NODE_KEYS ? OTHER_NODE_KEYS : NODE_KEYS;
    this.trace.say(() => `${place.plan.name} is installed anew`);
  }

  // --- REST

  /** Answers the job's id. */
  async submit(): Promise<string> {
    this.#jobs += 1;
    const jobId = `${'0'.repeat(28)}${String(this.#jobs).padStart(4, '0')}`;
    const names = this.nodes.map(({ plan }) => plan.name);
    const { spec, nodes } = makeJob(this.random, jobId, names);
    await this.startJob(jobId, spec, nodes);
    return jobId;
  }

  /** Settles as far as it can; the rest comes with the steps. */
  async startJob(jobId: string, spec: PushJobSpec, nodes: readonly string[]): Promise<void> {
    const server = this.#someServer();
    if (server === undefined) return;
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
    // Who was waited for has as long for its vote as all had.
    const waits = spec.waitTimeout === undefined ? 0 : spec.waitTimeout + spec.votingTimeout;
    const phases = (waits + spec.votingTimeout + spec.runTimeout + aborting) * 1000;
    this.deadlines.expect(jobId, this.timeline.now + phases + SLACK_MS);
  }

  async abort(jobId: string): Promise<void> {
    const server = this.#someServer();
    if (server === undefined) return;
    this.trace.say(() => `REST: abort job ${short(jobId)}`);
    if (!(await server.push.abort(ORG.id, jobId, 'tester'))) return;
    this.trace.say(() => `REST: abort of job ${short(jobId)} accepted`);
    this.aborted.add(jobId);
    const phase = this.ledger.durable.jobs.get(jobId)?.phase;
    if (phase !== 'aborting' && phase !== 'finished') {
      this.report(new Violation('acknowledged is stored', `the abort of job ${short(jobId)} was accepted: ${phase}`));
    }
  }

  async continue(jobId: string): Promise<void> {
    const server = this.#someServer();
    if (server === undefined) return;
    this.trace.say(() => `REST: continue job ${short(jobId)}`);
    this.ledger.continued = jobId;
    const accepted = server.push.continue(ORG.id, jobId);
    this.ledger.continued = null;
    if ((await accepted) === 'continued') this.trace.say(() => `REST: job ${short(jobId)} goes on`);
  }

  /** That a request is sent to. */
  #someServer(): ServerProcess | undefined {
    return this.random.some(this.servers.answering);
  }

  close(): void {
    this.servers.close();
    for (const { agent } of this.nodes) agent?.kill();
    this.database.close();
  }
}

/** As any of these servers has decided it; `finished` counts most. */
function phaseOf(servers: readonly ServerProcess[], jobId: string): string | undefined {
  const phases = servers.map(({ decisions }) => decisions.book.jobs.get(jobId)?.phase);
  return phases.includes('finished') ? 'finished' : phases.find((phase) => phase !== undefined);
}
