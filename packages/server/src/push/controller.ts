import type { Write } from '@muster/store';
import { type AgentMessage, dialects, type ServerMessage, type Timer } from '@muster/wire';
import type { JobPort } from '../nodes/types.js';
import { LiveJob } from './live-job.js';
import { type JobEffect, type JobEvent, type JobRules, type JobStep, stepJob } from './machine.js';
import { isFinal, type JobNode, type JobNodeEvent, type JobNodeStep, NEW_NODE, stepNode } from './node-machine.js';
import { OutputKeeper } from './output-keeper.js';
import type {
  PushControllerDeps,
  PushControllerService,
  PushEvent,
  PushEventName,
  StartJob,
  StoredOutput,
} from './ports.js';
import { lastEvent, unfinishedJobs } from './reads.js';
import { appendEvent, saveJob, saveJobNode } from './repository.js';
import { jobNodeRow, jobRow, restoreJob } from './snapshot.js';

/** A native agent enforces the node timeout itself; the server steps in this much later. */
const NODE_TIMEOUT_GRACE_MS = 10_000;
/** Node timeouts are looked for at most this often. */
const NODE_TIMEOUT_SWEEP_MS = 200;
/** Added to what an agent may have to wait for its start, so that it never gives up first. */
const WAIT_MARGIN_SECONDS = 60;

type NodeMessage = Exclude<AgentMessage, { type: 'heartbeat' }>;

/** What one turn of a job's mailbox wants done, in the order of the promises: store, hand nodes on, then tell. */
interface Outbox {
  writes: Write[];
  sends: Map<'prepare' | 'start' | 'abort', string[]>;
  releases: { name: string; to: 'idle' | 'rehab'; reason: string }[];
  events: PushEvent[];
  ended: StoredOutput[];
}

/**
 * The mailbox of every push job. Each event runs both machines to rest, then the transitions are stored in one
 * commit, then the effects leave (architecture: save, then act).
 */
export function createPushController(deps: PushControllerDeps): PushControllerService {
  return new Controller(deps);
}

class Controller implements PushControllerService {
  readonly #deps: PushControllerDeps;
  readonly #jobs = new Map<string, LiveJob>();
  /** Finished jobs that still count as live (sheet §7.4). */
  readonly #lingering = new Map<string, Timer>();
  readonly #outputs: OutputKeeper;
  readonly #outputListeners = new Set<(output: StoredOutput) => void>();
  #stopped = false;

  constructor(deps: PushControllerDeps) {
    this.#deps = deps;
    this.#outputs = new OutputKeeper({
      store: deps.store,
      limit: deps.config.push.output_limit,
      stored: (orgId, jobId, node, stream, offset) => {
        if (this.#stopped) return;
        deps.nodes.send(orgId, [node], { type: 'output_stored', jobId, stream, offset });
        this.#tellListeners({ jobId, node, stream });
      },
      failed: (error) => deps.logger.error({ err: error }, 'output could not be stored'),
    });
    deps.nodes.attach({
      message: this.#message.bind(this),
      heartbeat: this.#heartbeat.bind(this),
      down: this.#down.bind(this),
      restarted: this.#restarted.bind(this),
      isLive: (jobId) => this.#jobs.has(jobId),
    });
  }

  // --- what the routes ask for

  async start(input: StartJob): Promise<void> {
    const now = this.#deps.clock.now();
    const job = new LiveJob({ ...input, id: input.jobId, createdAt: now });
    const outbox = newOutbox();
    this.#announce(job, outbox, 'start', startEvent(job, input.nodes.length + input.denied.length));
    for (const name of input.nodes) job.setNode(name, NEW_NODE);
    for (const name of input.denied) {
      job.setNode(name, NEW_NODE);
      this.#stepNode(job, outbox, name, { type: 'denied' });
    }
    const nodes = [...job.nodes].map(([name, node]) => this.#nodeWrite(job, name, node));
    await this.#deps.store.commit([
      this.#jobWrite(job),
      ...nodes,
      ...outbox.events.map((event) => eventWrite(job, event)),
    ]);
    for (const event of outbox.events) this.#deps.feed.publish(job.org.id, job.id, event);

    this.#jobs.set(job.id, job);
    this.#turn(job, (turn) => {
      this.#claim(job, turn);
      this.#stepJob(job, turn, { type: 'begin', now });
    });
    this.#armAckTimeout(job);
  }

  async abort(orgId: string, jobId: string, requester: string): Promise<boolean> {
    const job = this.#jobs.get(jobId);
    if (job === undefined || job.org.id !== orgId) return false;
    const now = this.#deps.clock.now();
    const durable = this.#turn(job, (turn) =>
      this.#stepJob(job, turn, { type: 'abort', now, reason: `aborted by ${requester}` }),
    );
    await durable;
    return true;
  }

  isLive(jobId: string): boolean {
    return this.#jobs.has(jobId) || this.#lingering.has(jobId);
  }

  liveJobs(): readonly string[] {
    return [...this.#jobs.keys(), ...this.#lingering.keys()];
  }

  onOutput(listener: (output: StoredOutput) => void): () => void {
    this.#outputListeners.add(listener);
    return () => this.#outputListeners.delete(listener);
  }

  // --- life cycle

  /** §5.6: load every unfinished job and set things up so that its state can be left the same way as before. */
  async load(): Promise<void> {
    const { nodes, store, clock, config, logger } = this.#deps;
    const graceMs = recoveryGraceMs(config);
    for (const stored of await unfinishedJobs(store.read)) {
      const job = restoreJob(stored, await lastEvent(store.read, stored.job.id));
      this.#jobs.set(job.id, job);
      for (const name of job.unfinished) nodes.readopt(job.org.id, job.id, name);
      await this.#outputs.load(job.id);
      const now = clock.now();
      logger.info({ job: job.id, phase: job.state.phase }, 'push job taken up again');
      this.#turn(job, (turn) => {
        for (const name of [...job.unfinished]) this.#checkAdopted(job, turn, name);
        this.#stepJob(job, turn, { type: 'load', now, graceMs });
      });
      // The phase is the one it was stored in, so no step armed its deadline.
      if (job.state.phase !== 'finished') this.#armDeadline(job);
      this.#armAckTimeout(job);
      this.#armNodeTimeout(job);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const job of this.#jobs.values()) job.cancelTimers();
    for (const timer of this.#lingering.values()) timer.cancel();
    await this.#outputs.settled();
  }

  // --- what the nodes layer tells (JobPort)

  #message(jobId: string, node: string, message: NodeMessage): void {
    const job = this.#jobs.get(jobId);
    if (job === undefined) return;
    if (message.type === 'output') {
      if (job.spec.capture && job.unfinished.has(node)) this.#outputs.chunk(job, node, message);
      return;
    }
    const event = nodeEvent(job, message);
    if (event === null) return;
    if (event.type === 'finished' && message.type === 'finished' && job.spec.capture) {
      this.#outputs.finish(job, node, message);
    }
    this.#turn(job, (turn) => this.#stepNode(job, turn, node, event));
  }

  #heartbeat(jobId: string, node: string, report: Parameters<JobPort['heartbeat']>[2], _repeatable: boolean): void {
    const job = this.#jobs.get(jobId);
    if (job === undefined) return;
    this.#turn(job, (turn) =>
      this.#stepNode(job, turn, node, { type: 'heartbeat', report: aboutThisJob(jobId, report) }),
    );
  }

  #down(jobId: string, node: string): void {
    const job = this.#jobs.get(jobId);
    if (job !== undefined) this.#turn(job, (turn) => this.#stepNode(job, turn, node, { type: 'down' }));
  }

  #restarted(jobId: string, node: string, end: 'clean' | 'crash' | 'reinstalled'): void {
    const job = this.#jobs.get(jobId);
    if (job === undefined) return;
    const how = { clean: 'agent restarted', crash: 'node crashed', reinstalled: 'node was reinstalled' }[end];
    this.#turn(job, (turn) => this.#stepNode(job, turn, node, { type: 'restarted', how }));
  }

  // --- one turn of a mailbox

  /** Runs `work` and both machines to rest, hands the transitions to the store and arranges the effects. */
  #turn(job: LiveJob, work: (outbox: Outbox) => void): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    const outbox = newOutbox();
    const phaseBefore = job.state.phase;
    try {
      work(outbox);
      this.#settle(job, outbox);
    } catch (error) {
      // A defect in one job must not take the server, nor leave its nodes owned for ever.
      this.#deps.logger.error({ err: error, job: job.id }, 'push job crashed');
      this.#crash(job, outbox);
    }
    if (job.state.phase !== phaseBefore) this.#armDeadline(job);
    if (job.state.phase === 'finished') this.#retire(job);
    return this.#flush(job, outbox);
  }

  /** Aggregate detection (§5.6.2): repeated until the counts cause no further change. */
  #settle(job: LiveJob, outbox: Outbox): void {
    for (;;) {
      const { tally, state } = job;
      this.#stepJob(job, outbox, { type: 'tallied', now: this.#deps.clock.now() });
      if (job.tally === tally && job.state === state) return;
    }
  }

  #stepJob(job: LiveJob, outbox: Outbox, event: JobEvent): void {
    const step: JobStep = stepJob(job.state, job.tally, rulesOf(job, this.#deps), event);
    if (step.job !== job.state) {
      if (step.job.status !== job.state.status) job.updatedAt = this.#deps.clock.now();
      job.state = step.job;
      outbox.writes.push(this.#jobWrite(job));
    }
    for (const effect of step.effects) this.#carryOut(job, outbox, effect);
  }

  #carryOut(job: LiveJob, outbox: Outbox, effect: JobEffect): void {
    switch (effect.type) {
      case 'ask':
        for (const name of job.unfinished) {
          if (job.nodes.get(name)?.status === 'new') queueSend(outbox, 'prepare', name);
        }
        return;
      case 'expire_votes':
        for (const name of [...job.unfinished]) this.#stepNode(job, outbox, name, { type: 'vote_expired' });
        return;
      case 'start':
        for (let i = 0; i < effect.count; i++) {
          const name = job.nextReady();
          if (name === undefined) return;
          this.#stepNode(job, outbox, name, { type: 'start' });
        }
        return;
      case 'wake_at':
        this.#armWake(job, effect.at);
        return;
      case 'stop_starting':
        for (const name of [...job.unfinished]) {
          this.#stepNode(job, outbox, name, { type: 'not_started', reason: effect.reason });
        }
        return;
      case 'abort_nodes':
      case 'close': {
        const ending = job.state.ending ?? finalStatus(job);
        const reason = job.state.reason ?? ending;
        for (const name of [...job.unfinished]) {
          this.#stepNode(
            job,
            outbox,
            name,
            effect.type === 'close' ? { type: 'close', ending } : { type: 'abort', ending, reason },
          );
        }
        return;
      }
      case 'announce':
        this.#announce(job, outbox, effect.name, effect.name === 'job_complete' ? { status: job.state.status } : {});
        return;
    }
  }

  #stepNode(job: LiveJob, outbox: Outbox, name: string, event: JobNodeEvent): void {
    const before = job.nodes.get(name);
    if (before === undefined) return;
    const context = {
      phase: job.state.phase,
      ending: job.state.ending,
      now: this.#deps.clock.now(),
      repeatable: this.#repeatable(job, name),
    };
    const step: JobNodeStep = stepNode(before, event, context);
    const { node } = step;
    if (node !== before) {
      job.setNode(name, node);
      outbox.writes.push(this.#nodeWrite(job, name, node));
      if (node.status === 'running' && before.status !== 'running') this.#armNodeTimeout(job);
      if (isFinal(node.status)) {
        outbox.ended.push(
          { jobId: job.id, node: name, stream: 'stdout' },
          { jobId: job.id, node: name, stream: 'stderr' },
        );
      }
    }
    for (const effect of step.effects) {
      switch (effect.type) {
        case 'send':
          queueSend(outbox, effect.message, name);
          break;
        case 'release':
          outbox.releases.push({ name, to: effect.to, reason: `${node.status} in job ${job.id}` });
          break;
        case 'announce':
          this.#announce(
            job,
            outbox,
            effect.name,
            'status' in effect ? { node: name, status: effect.status } : { node: name },
          );
          break;
      }
    }
  }

  #announce(job: LiveJob, outbox: Outbox, name: PushEventName, data: Readonly<Record<string, unknown>>): void {
    job.seq += 1;
    job.lastEventAt = Math.max(job.lastEventAt, this.#deps.clock.now());
    const event: PushEvent = { seq: job.seq, name, at: job.lastEventAt, data };
    outbox.events.push(event);
  }

  /**
   * Transitions go to the store before any node is handed on, so that the lane's order keeps a node's next owner
   * from being stored before its end in this job. Messages and events leave when the commit is durable.
   */
  #flush(job: LiveJob, outbox: Outbox): Promise<void> {
    const { store, nodes, feed, logger } = this.#deps;
    const writes = [...outbox.writes, ...outbox.events.map((event) => eventWrite(job, event))];
    const durable = writes.length === 0 ? Promise.resolve() : store.persist(writes);
    for (const { name, to, reason } of outbox.releases) nodes.release(job.org.id, job.id, name, to, reason);
    return durable.then(
      () => {
        if (this.#stopped) return;
        for (const [kind, names] of outbox.sends) nodes.send(job.org.id, names, messageFor(job, kind));
        for (const event of outbox.events) feed.publish(job.org.id, job.id, event);
        if (job.state.status === 'crashed') feed.ended(job.id);
        for (const output of outbox.ended) this.#tellListeners(output);
      },
      (error: unknown) => {
        if (!this.#stopped) logger.error({ err: error, job: job.id }, 'a transition of this job could not be stored');
      },
    );
  }

  // --- parts of a turn

  /** §5.5.3: takes the nodes out of idle in one synchronous step; the rest is out of the job at once. */
  #claim(job: LiveJob, outbox: Outbox): void {
    const names = [...job.unfinished];
    const claims = this.#deps.nodes.claim(job.org.id, job.id, names);
    for (const name of names) {
      const claim = claims.get(name) ?? { kind: 'unknown' as const };
      switch (claim.kind) {
        case 'claimed':
          job.incarnations.set(name, claim.incarnation);
          break;
        case 'busy':
          this.#stepNode(job, outbox, name, { type: 'unclaimed', why: 'busy', reason: `busy with job ${claim.jobId}` });
          break;
        case 'down':
        case 'rehab':
        case 'unknown':
          this.#stepNode(job, outbox, name, { type: 'unclaimed', why: claim.kind, reason: UNCLAIMED[claim.kind] });
          break;
      }
    }
  }

  /** After a restart: a node that is down, or belongs elsewhere by now, is no longer this job's. */
  #checkAdopted(job: LiveJob, outbox: Outbox, name: string): void {
    const owner = this.#deps.nodes.get(job.org.id, name)?.owner;
    if (owner?.kind === 'job' && owner.jobId === job.id) return;
    this.#stepNode(job, outbox, name, { type: 'down' });
  }

  #crash(job: LiveJob, outbox: Outbox): void {
    job.state = {
      ...job.state,
      phase: 'finished',
      status: 'crashed',
      ending: null,
      reason: 'internal error',
      deadline: null,
    };
    job.updatedAt = this.#deps.clock.now();
    for (const name of [...job.unfinished]) this.#stepNode(job, outbox, name, { type: 'close', ending: 'crashed' });
    outbox.writes.push(this.#jobWrite(job));
  }

  #retire(job: LiveJob): void {
    job.cancelTimers();
    this.#jobs.delete(job.id);
    this.#outputs.forget(job.id);
    const lingerMs = this.#deps.config.push.linger * 1000;
    this.#lingering.set(
      job.id,
      this.#deps.clock.after(lingerMs, () => this.#lingering.delete(job.id)),
    );
  }

  #repeatable(job: LiveJob, name: string): boolean {
    const dialect = this.#deps.nodes.get(job.org.id, name)?.dialect ?? 'native';
    return dialects[dialect].repeatable;
  }

  #tellListeners(output: StoredOutput): void {
    for (const listener of this.#outputListeners) listener(output);
  }

  // --- timers, all from absolute times that are stored

  #armDeadline(job: LiveJob): void {
    job.deadlineTimer?.cancel();
    job.deadlineTimer = null;
    const { deadline } = job.state;
    if (deadline === null) return;
    const { clock } = this.#deps;
    job.deadlineTimer = clock.after(deadline - clock.now(), () => {
      const now = clock.now();
      this.#turn(job, (turn) => this.#stepJob(job, turn, { type: 'deadline', now: Math.max(now, deadline) }));
    });
  }

  #armWake(job: LiveJob, at: number): void {
    const { clock } = this.#deps;
    job.wakeTimer?.cancel();
    job.wakeTimer = clock.after(at - clock.now(), () => {
      this.#turn(job, (turn) => this.#stepJob(job, turn, { type: 'wake', now: clock.now() }));
    });
  }

  #armAckTimeout(job: LiveJob): void {
    const seconds = job.spec.ackTimeout;
    if (seconds === null || job.state.phase === 'finished') return;
    job.ackTimer = this.#deps.clock.after(seconds * 1000, () => {
      this.#turn(job, (turn) => {
        for (const name of [...job.unfinished]) this.#stepNode(job, turn, name, { type: 'ack_timeout', seconds });
      });
    });
  }

  /** One timer per job: the earliest start plus the limit. */
  #armNodeTimeout(job: LiveJob): void {
    const seconds = job.spec.nodeTimeout;
    if (seconds === null || job.nodeTimer !== null || job.tally.running === 0) return;
    const { clock } = this.#deps;
    let earliest = Number.POSITIVE_INFINITY;
    for (const name of job.unfinished) {
      const node = job.nodes.get(name);
      if (node?.status === 'running') earliest = Math.min(earliest, this.#dueAt(job, name, node, seconds));
    }
    const delay = Math.max(earliest - clock.now(), NODE_TIMEOUT_SWEEP_MS);
    job.nodeTimer = clock.after(delay, () => {
      job.nodeTimer = null;
      const now = clock.now();
      this.#turn(job, (turn) => {
        for (const name of [...job.unfinished]) {
          const node = job.nodes.get(name);
          if (node?.status !== 'running' || this.#dueAt(job, name, node, seconds) > now) continue;
          this.#stepNode(job, turn, name, { type: 'node_timeout', seconds });
        }
      });
      if (job.state.phase === 'running') this.#armNodeTimeout(job);
    });
  }

  #dueAt(job: LiveJob, name: string, node: JobNode, seconds: number): number {
    const grace = this.#repeatable(job, name) ? NODE_TIMEOUT_GRACE_MS : 0;
    return (node.startedAt ?? job.updatedAt) + seconds * 1000 + grace;
  }

  // --- rows

  #jobWrite(job: LiveJob): Write {
    return saveJob(jobRow(job, this.#deps.incarnation));
  }

  #nodeWrite(job: LiveJob, name: string, node: JobNode): Write {
    const bytes = this.#outputs.totals(job.id, name);
    return saveJobNode(jobNodeRow(job, name, node, bytes, this.#deps.clock.now()));
  }
}

const UNCLAIMED = { unknown: 'unknown node', down: 'down', rehab: 'in rehab' } as const;

function newOutbox(): Outbox {
  return { writes: [], sends: new Map(), releases: [], events: [], ended: [] };
}

function queueSend(outbox: Outbox, kind: 'prepare' | 'start' | 'abort', name: string): void {
  const names = outbox.sends.get(kind);
  if (names === undefined) outbox.sends.set(kind, [name]);
  else names.push(name);
}

function eventWrite(job: LiveJob, event: PushEvent): Write {
  return appendEvent(job.id, event);
}

function messageFor(job: LiveJob, kind: 'prepare' | 'start' | 'abort'): ServerMessage {
  switch (kind) {
    case 'prepare':
      return {
        type: 'prepare',
        jobId: job.id,
        command: job.spec.command,
        capture: job.spec.capture,
        options: job.spec.options,
        waitSeconds: Math.ceil(job.spec.votingTimeout + job.spec.runTimeout) + WAIT_MARGIN_SECONDS,
        ...(job.spec.nodeTimeout === null ? {} : { timeoutSeconds: job.spec.nodeTimeout }),
      };
    case 'start':
      return { type: 'start', jobId: job.id };
    case 'abort':
      return { type: 'abort' };
  }
}

/** What a message means to the machine; null: nothing. Output is not its business. */
function nodeEvent(job: LiveJob, message: Exclude<NodeMessage, { type: 'output' }>): JobNodeEvent | null {
  switch (message.type) {
    case 'facts':
    case 'ready':
      return null;
    case 'crashed':
      return { type: 'agent_crashed' };
    case 'aborted':
      // An answer to an abort of before this job (§5.5.3 warns of leftovers).
      return message.jobId === job.id ? { type: 'aborted', from: message.from, settled: message.settled } : null;
    case 'ack':
    case 'nack':
    case 'started':
    case 'finished':
    case 'error':
      break;
  }
  if (message.jobId !== job.id) {
    return {
      type: 'misbehaved',
      reason: `sent ${message.type} for ${message.jobId === null ? 'no job' : 'another job'}`,
    };
  }
  switch (message.type) {
    case 'ack':
    case 'started':
      return { type: message.type };
    case 'nack':
    case 'error':
      return { type: message.type, reason: message.reason };
    case 'finished':
      return { type: 'finished', result: message };
  }
}

function aboutThisJob(
  jobId: string,
  report: Parameters<JobPort['heartbeat']>[2],
): Extract<JobNodeEvent, { type: 'heartbeat' }>['report'] {
  if (report.jobId === jobId) {
    if (report.state === 'waiting') return 'waiting';
    if (report.state === 'running' || report.state === 'terminating') return 'running';
  }
  return report.last?.jobId === jobId ? 'ended' : 'absent';
}

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

function rulesOf(job: LiveJob, deps: PushControllerDeps): JobRules {
  const { heartbeat, push } = deps.config;
  const abortingTimeout = push.aborting_timeout ?? heartbeat.interval * heartbeat.offline_threshold + 5;
  return { ...job.spec, abortingTimeout };
}

/**
 * Long enough for a live node to notice the new server, fetch its configuration and report (§3.2, N10), and for a dead
 * one to be found down: the nodes layer gives them `online_threshold` and two intervals before it counts silence.
 */
function recoveryGraceMs(config: PushControllerDeps['config']): number {
  const { interval, offline_threshold: offline, online_threshold: online } = config.heartbeat;
  return (interval * (offline + online + 3) + 5) * 1000;
}

function finalStatus(job: LiveJob): 'complete' | 'quorum_failed' | 'timed_out' | 'aborted' | 'crashed' {
  switch (job.state.status) {
    case 'new':
    case 'voting':
    case 'running':
      return 'complete';
    default:
      return job.state.status;
  }
}
