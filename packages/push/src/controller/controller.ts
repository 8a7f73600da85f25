import type { Timer } from '@muster/base';
import type { NodeReport } from '@muster/nodes';
import { newestEntry, subjectOf } from '@muster/platform/feeds';
import { type LiveReaders, type OutputFollowers, OutputKeeper } from '@muster/platform/output';
import type { Write } from '@muster/store';
import { MusterError } from '../errors.js';
import { PUSH_FEED } from '../events.js';
import { type JobNodeEvent, NEW_NODE } from '../machine/job-node.js';
import { outputOf } from '../output.js';
import type { ClaimResult, Owner, PushMessage } from '../ownership/types.js';
import type { Continued, PushControllerDeps, PushControllerService, SeenHold, StartPushJob } from '../ports.js';
import { unfinishedJobs } from '../repository/reads.js';
import type { PushJobSpec } from '../types.js';
import { LiveJob } from './live-job.js';
import { nodeEvent, reportOn } from './messages.js';
import { restoreJob } from './snapshot.js';
import { Transitions } from './transitions.js';
import { dialectOf, Turn, type TurnDeps } from './turn.js';
import { type Explanation, explain } from './why.js';

export function createPushController(deps: PushControllerDeps): PushControllerService {
  return new Controller(deps);
}

/** The life cycle of push jobs: what starts them, what they hear, and what they go on with after a restart. */
class Controller implements PushControllerService {
  readonly #deps: PushControllerDeps & TurnDeps;
  readonly #jobs = new Map<string, LiveJob>();
  /** Finished jobs that still count as live (sheet §7.4). */
  readonly #lingering = new Map<string, Timer>();
  readonly #transitions: Transitions;
  readonly #outputs: OutputKeeper;

  constructor(deps: PushControllerDeps) {
    this.#outputs = new OutputKeeper({
      store: deps.store,
      clock: deps.clock,
      limitOf: () => deps.config.push.output_limit,
      hashed: true,
      failed: (error) => deps.logger.error({ err: error }, 'output could not be stored'),
    });
    this.#deps = { ...deps, outputs: this.#outputs };
    this.#transitions = new Transitions({
      ...this.#deps,
      finished: (job) => this.#retire(job),
      outputEnded: (job, nodes, all) => {
        for (const node of nodes) this.#outputs.followers.tell(outputOf(job.id, node));
        this.#outputs.readers.endParts(subjectOf(PUSH_FEED, job.id), nodes);
        if (all) this.#outputs.readers.end(subjectOf(PUSH_FEED, job.id));
      },
    });
    deps.owners.attach({
      message: this.#message.bind(this),
      heartbeat: (jobId, node, report) => this.#heard(jobId, node, report),
      down: (jobId, node) => this.#down(jobId, node),
      free: (jobId, node) => this.#free(jobId, node),
      restarted: (jobId, node, end) => this.#tell(jobId, node, { type: 'restarted', how: RESTARTED[end] }),
      isLive: (jobId) => this.#jobs.has(jobId),
    });
  }

  // --- what the routes ask for

  async start(input: StartPushJob): Promise<void> {
    const now = this.#deps.clock.now();
    const job = new LiveJob({ ...input, spec: this.#inTurn(input.spec), id: input.jobId, createdAt: now });
    const first = new Turn(job, this.#deps);
    first.announce('start', startEvent(job, input.nodes.length + input.denied.length));
    for (const name of [...input.nodes, ...input.denied]) job.setNode(name, NEW_NODE);
    for (const name of input.denied) first.stepNode(name, { type: 'denied' });
    first.saveJob();
    for (const name of input.nodes) first.saveNode(name, NEW_NODE);
    // Who reads it the moment it is stored may abort it at once.
    this.#jobs.set(job.id, job);
    try {
      const events = [...first.events, ...(input.events ?? [])];
      await this.#deps.recorder.commit([...first.writes, ...(input.record ?? [])], events, job.eventTime(now));
    } catch (error) {
      this.#jobs.delete(job.id);
      throw error;
    }
    for (const status of first.endedNodes) this.#deps.counts.jobNodeEnded(status);
    if (!this.#jobs.has(job.id)) return;

    void this.#transitions.turn(job, (turn) => {
      this.#claim(turn);
      turn.stepJob({ type: 'begin', now });
    });
    this.#transitions.timers.armAckTimeout(job);
    this.#transitions.timers.armWaitTimeout(job);
  }

  async abort(orgId: string, jobId: string, requester: string, record: readonly Write[] = []): Promise<boolean> {
    const job = this.#jobs.get(jobId);
    if (job === undefined || job.org.id !== orgId) return false;
    const now = this.#deps.clock.now();
    const durable = await this.#transitions.turn(job, (turn) => {
      turn.writes.push(...record);
      turn.stepJob({ type: 'abort', now, reason: `aborted by ${requester}` });
    });
    if (!durable) throw new MusterError('store_unavailable', { reason: 'the server is stopping' });
    return true;
  }

  async continue(
    orgId: string,
    jobId: string,
    seen: SeenHold | null = null,
    record: readonly Write[] = [],
  ): Promise<Continued> {
    const job = this.#jobs.get(jobId);
    if (job === undefined || job.org.id !== orgId) return 'not_held';
    const { phase, stage } = job.state;
    if (phase !== 'running' || stage === null || stage.hold === null) return 'not_held';
    if (seen !== null && (seen.batch !== stage.batch || seen.excused !== stage.excused)) return 'other_hold';
    const durable = await this.#transitions.turn(job, (turn) => {
      turn.writes.push(...record);
      turn.stepJob({ type: 'continue', now: this.#deps.clock.now() });
    });
    if (!durable) throw new MusterError('store_unavailable', { reason: 'the server is stopping' });
    return 'continued';
  }

  why(orgId: string, jobId: string): Explanation | undefined {
    const job = this.#jobs.get(jobId);
    if (job === undefined || job.org.id !== orgId) return undefined;
    const { nodes, owners, clock } = this.#deps;
    return explain(job, { nodes, owners, now: clock.now() });
  }

  isLive(jobId: string): boolean {
    return this.#jobs.has(jobId) || this.#lingering.has(jobId);
  }

  unfinished(): Iterable<LiveJob> {
    return this.#jobs.values();
  }

  liveJobs(): readonly string[] {
    return [...this.#jobs.keys(), ...this.#lingering.keys()];
  }

  get outputFollowers(): OutputFollowers {
    return this.#outputs.followers;
  }

  get outputReaders(): LiveReaders {
    return this.#outputs.readers;
  }

  // --- life cycle

  /** §5.6: load every unfinished job and set things up so that its state can be left the same way as before. */
  async load(): Promise<void> {
    const { owners, store, clock, config, logger } = this.#deps;
    const graceMs = recoveryGraceMs(config);
    const jobs: LiveJob[] = [];
    for (const stored of await unfinishedJobs(store.read)) {
      jobs.push(restoreJob(stored, await newestEntry(store.read, PUSH_FEED, stored.job.id)));
    }
    // Those that wait enter the queues of their nodes in the order in which they did.
    jobs.sort((one, other) => (one.spec.turn ?? 0) - (other.spec.turn ?? 0));
    for (const job of jobs) {
      this.#jobs.set(job.id, job);
      for (const name of job.unfinished) owners.readopt(job.org.id, job.id, name);
      await this.#outputs.load(subjectOf(PUSH_FEED, job.id), job.unfinished);
      const now = clock.now();
      job.resume(now, clock.monotonic(), graceMs);
      logger.info({ job: job.id, phase: job.state.phase }, 'push job taken up again');
      void this.#transitions.turn(job, (turn) => {
        this.#takeBack(turn);
        turn.stepJob({ type: 'load', now, graceMs });
      });
      // The phase is the one it was stored in, so no step armed its deadline.
      const { timers } = this.#transitions;
      if (job.state.phase !== 'finished') timers.armDeadline(job);
      timers.armAckTimeout(job);
      timers.armNodeTimeout(job);
      timers.armWaitTimeout(job);
    }
  }

  async stop(): Promise<void> {
    this.#transitions.stop();
    for (const job of this.#jobs.values()) job.cancelTimers();
    for (const timer of this.#lingering.values()) timer.cancel();
    await this.#outputs.settled();
  }

  #retire(job: LiveJob): void {
    job.cancelTimers();
    this.#jobs.delete(job.id);
    this.#outputs.forget(subjectOf(PUSH_FEED, job.id));
    const lingerMs = this.#deps.config.push.linger * 1000;
    this.#lingering.set(
      job.id,
      this.#deps.clock.after(lingerMs, () => this.#lingering.delete(job.id)),
    );
  }

  // --- what is told of the nodes they own (OwningJobs)

  #message(jobId: string, node: string, message: PushMessage): void {
    const job = this.#jobs.get(jobId);
    if (job === undefined) return;
    if (message.type === 'output') {
      // What an earlier job left over is not this job's output.
      const own = message.jobId === jobId && job.unfinished.has(node);
      if (own && job.spec.capture) this.#takeOutput(job, node, message);
      return;
    }
    const event = nodeEvent(job, message);
    if (event === null) return;
    if (event.type === 'finished' && message.type === 'finished' && job.spec.capture) {
      this.#outputs.finish(outputOf(job.id, node), message);
    }
    this.#tell(jobId, node, event);
  }

  /** The agent is told how far it is stored, and forgets so much. */
  #takeOutput(job: LiveJob, node: string, message: Extract<PushMessage, { type: 'output' }>): void {
    const { stream } = message;
    this.#outputs.take({ ...outputOf(job.id, node), stream }, message, (offset) => {
      if (this.#transitions.stopped) return;
      this.#deps.nodes.send(job.org.id, [node], { type: 'output_stored', jobId: job.id, stream, offset });
    });
  }

  #heard(jobId: string, node: string, report: NodeReport): void {
    this.#tell(jobId, node, { type: 'heartbeat', report: reportOn(jobId, report) });
  }

  #down(jobId: string, node: string): void {
    const job = this.#jobs.get(jobId);
    if (job !== undefined) this.#tell(jobId, node, { type: 'down', reason: this.#whyDown(job, node) });
  }

  /** Of one without an agent it is known better than that it is silent. */
  #whyDown({ org }: LiveJob, name: string): string {
    const node = this.#deps.nodes.get(org.id, name);
    return node?.via === 'ssh' ? `down: ${node.reason}` : 'down';
  }

  #tell(jobId: string, node: string, event: JobNodeEvent): void {
    const job = this.#jobs.get(jobId);
    if (job !== undefined) void this.#transitions.turn(job, (turn) => turn.stepNode(node, event));
  }

  // --- whose nodes they are

  /** §5.5.3: takes the nodes out of idle in one synchronous step; the rest is out of the job at once. */
  #claim(turn: Turn): void {
    const { job } = turn;
    const names = [...job.unfinished];
    const claims = this.#deps.owners.claim(job.org.id, job.id, names, isPatient(job));
    for (const name of names) {
      const claim = claims.get(name) ?? { kind: 'unknown' };
      if (claim.kind === 'claimed') this.#offerable(turn, name);
      else turn.stepNode(name, this.#unclaimed(job, name, claim));
    }
  }

  /** A node that the job waits for: it is claimed and asked, unless it is somebody else's again by then. */
  #free(jobId: string, name: string): void {
    const job = this.#jobs.get(jobId);
    if (job?.nodes.get(name)?.waits !== 'turn') return;
    void this.#transitions.turn(job, (turn) => this.#claimLate(turn, name));
  }

  #claimLate(turn: Turn, name: string): void {
    const { job } = turn;
    const claim = this.#deps.owners.claim(job.org.id, job.id, [name], true).get(name) ?? { kind: 'unknown' };
    if (claim.kind !== 'claimed') turn.stepNode(name, this.#unclaimed(job, name, claim));
    else if (this.#offerable(turn, name)) turn.stepNode(name, { type: 'claimed' });
  }

  #unclaimed(job: LiveJob, name: string, where: Elsewhere): JobNodeEvent {
    switch (where.kind) {
      case 'queued':
        return { type: 'queued', reason: where.reason };
      case 'busy':
        return { type: 'unclaimed', why: 'busy', reason: `busy with job ${where.jobId}` };
      case 'down':
        return { type: 'unclaimed', why: 'down', reason: this.#whyDown(job, name) };
      default:
        return { type: 'unclaimed', why: where.kind, reason: UNCLAIMED[where.kind] };
    }
  }

  /** Jobs that wait are numbered in the order in which they were started. */
  #inTurn(spec: PushJobSpec): PushJobSpec {
    if (spec.waitTimeout === undefined) return spec;
    let last = 0;
    for (const { spec: other } of this.#jobs.values()) last = Math.max(last, other.turn ?? 0);
    return { ...spec, turn: last + 1 };
  }

  /**
   * A node of this job that is about to be asked. What its protocol cannot say is refused in its name at once: the
   * command must not run without what was to come with it.
   */
  #offerable(turn: Turn, name: string): boolean {
    const { job } = turn;
    const dialect = dialectOf(this.#deps, job, name);
    const known: readonly string[] = dialect.options;
    const unknown = Object.keys(job.spec.options).filter((option) => !known.includes(option));
    if (unknown.length === 0) return true;
    turn.stepNode(name, { type: 'nack', reason: `its protocol (${dialect.name}) cannot carry ${unknown.join(', ')}` });
    return false;
  }

  /**
   * After a restart: nodes that are not this job's are lost to it. A job that was stored and not begun had stored no
   * claim either, so it gets what it finds idle. Nodes without a vote of a job that waits are waited for again, or asked.
   */
  #takeBack(turn: Turn): void {
    const { job } = turn;
    const patient = isPatient(job) && job.state.phase !== 'aborting';
    for (const name of [...job.unfinished]) {
      const owner = this.#deps.owners.ownerOf(job.org.id, name);
      const unvoted = patient && job.nodes.get(name)?.status === 'new';
      if (owner?.kind === 'job' && owner.jobId === job.id) {
        if (job.state.phase === 'new') this.#offerable(turn, name);
        else if (unvoted) turn.stepNode(name, { type: 'claimed' });
      } else if (unvoted) this.#claimLate(turn, name);
      else if (job.state.phase === 'new') turn.stepNode(name, this.#unclaimed(job, name, elsewhere(owner)));
      else if (owner?.kind === 'rehab') turn.stepNode(name, { type: 'restarted', how: owner.reason });
      else turn.stepNode(name, { type: 'down', reason: this.#whyDown(job, name) });
    }
  }
}

type Elsewhere = Exclude<ClaimResult, { kind: 'claimed' }>;

function elsewhere(owner: Owner | undefined): Elsewhere {
  switch (owner?.kind) {
    case undefined:
      return { kind: 'unknown' };
    case 'job':
      return { kind: 'busy', jobId: owner.jobId };
    case 'down':
      return { kind: 'down' };
    case 'rehab':
    case 'idle':
      return { kind: 'rehab' };
  }
}

function isPatient({ spec }: LiveJob): boolean {
  return spec.waitTimeout !== undefined;
}

const UNCLAIMED = { unknown: 'unknown node', rehab: 'in rehab' } as const;
const RESTARTED = { clean: 'agent restarted', crash: 'node crashed', reinstalled: 'node was reinstalled' } as const;

function startEvent(job: LiveJob, nodeCount: number): Record<string, unknown> {
  const { user, dir, env, file } = job.spec.options;
  return {
    command: job.spec.command,
    run_timeout: job.spec.runTimeout,
    quorum: job.spec.quorum,
    node_count: nodeCount,
    user: job.requester,
    capture: job.spec.capture,
    ...(user === undefined ? {} : { job_user: user }),
    ...(dir === undefined ? {} : { dir }),
    ...(env === undefined ? {} : { env }),
    ...(file === undefined ? {} : { file_specified: true }),
  };
}

/**
 * Long enough for a live node to notice the new server, fetch its configuration and report (§3.2, N10), and for a dead
 * one to be found down: the nodes layer gives them `online_threshold` and two intervals before it counts silence.
 */
function recoveryGraceMs(config: PushControllerDeps['config']): number {
  const { interval, offline_threshold: offline, online_threshold: online } = config.heartbeat;
  return (interval * (offline + online + 3) + 5) * 1000;
}
