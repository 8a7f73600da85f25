import type { Recordable } from '@muster/platform/log';
import type { OutputKeeper } from '@muster/platform/output';
import type { Write } from '@muster/store';
import { type DialectCodec, dialects } from '@muster/wire';
import { type JobNodeStanding, jobChanged, jobEvent, jobNodeChanged, type PushEventName } from '../events.js';
import { type JobEffect, type JobEvent, type JobRules, stepJob } from '../machine/job-machine.js';
import { isFinal, type JobNode, type JobNodeEffect, type JobNodeEvent } from '../machine/job-node.js';
import { stepNode } from '../machine/job-node-machine.js';
import { type Stage, UNLIMITED } from '../machine/stage.js';
import { outputOf } from '../output.js';
import type { PushControllerDeps } from '../ports.js';
import { savePushJob, savePushJobNode } from '../repository/writes.js';
import type { FinalPushJobNodeStatus, FinalPushJobStatus } from '../types.js';
import type { LiveJob } from './live-job.js';
import { jobNodeRow, jobRow } from './snapshot.js';

export interface TurnDeps extends Pick<PushControllerDeps, 'clock' | 'nodes' | 'config'> {
  readonly outputs: Pick<OutputKeeper, 'hash' | 'isWhole' | 'totals'>;
}

/** What is sent to nodes. */
export type Order = Extract<JobNodeEffect, { type: 'send' }>['message'];

export interface Release {
  readonly name: string;
  readonly to: 'idle' | 'rehab';
  readonly reason: string;
}

/**
 * One turn of a push job: events step both machines in memory, and the rows, events and messages that follow from it are
 * collected here. None of them leaves before `Transitions` has stored the rows.
 */
export class Turn {
  readonly job: LiveJob;
  readonly writes: Write[] = [];
  readonly sends = new Map<Order, string[]>();
  readonly releases: Release[] = [];
  readonly events: Recordable[] = [];
  /** Nodes of which no more output comes. */
  readonly ended: string[] = [];
  /** How nodes ended in this turn, each once. */
  readonly endedNodes: FinalPushJobNodeStatus[] = [];
  /** When the start rate allows the next start; null when nobody waits for it. */
  wakeAt: number | null = null;
  /** Some node began to run. */
  started = false;
  /** Some node that was waited for was asked. */
  asked = false;
  readonly #deps: TurnDeps;

  constructor(job: LiveJob, deps: TurnDeps) {
    this.job = job;
    this.#deps = deps;
  }

  /** Aggregate detection (§5.6.2): repeated until the counts cause no further change. */
  settle(): void {
    for (;;) {
      const { tally, state } = this.job;
      this.stepJob({ type: 'tallied', now: this.#deps.clock.now() });
      if (this.job.tally === tally && this.job.state === state) return;
    }
  }

  stepJob(event: JobEvent): void {
    const { job } = this;
    const step = stepJob(job.state, job.tally, rulesOf(job, this.#deps.config), event);
    if (step.job !== job.state) {
      if (step.job.status !== job.state.status) job.updatedAt = this.#deps.clock.now();
      const told = step.job.phase === job.state.phase || step.effects.some(({ type }) => type === 'announce');
      job.state = step.job;
      this.saveJob();
      if (!told) this.events.push(jobChanged(job));
    }
    for (const effect of step.effects) this.#carryOut(effect);
  }

  stepNode(name: string, event: JobNodeEvent): void {
    const { job } = this;
    const before = job.nodes.get(name);
    if (before === undefined) return;
    const { node, effects } = stepNode(before, event, {
      phase: job.state.phase,
      ending: job.state.ending,
      now: this.#deps.clock.now(),
      // Whether prepare and start may be repeated to it (N12).
      repeatable: dialectOf(this.#deps, job, name).repeatable,
    });
    if (node !== before) {
      job.setNode(name, node);
      this.saveNode(name, node);
      const untold = node.status !== before.status && !effects.some(tellsStatus);
      if (untold || (node.waits === 'turn' && before.waits === null)) {
        this.events.push(jobNodeChanged(job, name, this.#standing(name, node)));
      }
      if (node.waits === 'vote' && before.waits !== 'vote') {
        this.asked = true;
        job.askedSinceMs.set(name, this.#deps.clock.monotonic());
      }
      if (node.status === 'running' && before.status !== 'running') {
        this.started = true;
        job.runningSinceMs.set(name, this.#deps.clock.monotonic());
      }
      if (isFinal(node.status)) {
        if (!isFinal(before.status)) this.endedNodes.push(node.status);
        this.ended.push(name);
      }
    }
    for (const effect of effects) {
      switch (effect.type) {
        case 'send':
          this.#send(effect.message, name);
          break;
        case 'release':
          this.releases.push({ name, to: effect.to, reason: `${node.status} in job ${job.id}` });
          break;
        case 'announce':
          if ('status' in effect) {
            this.announce(effect.name, { node: name, status: effect.status }, this.#standing(name, node));
          } else this.announce(effect.name, { node: name });
          break;
      }
    }
  }

  stepUnfinished(event: JobNodeEvent): void {
    for (const name of [...this.job.unfinished]) this.stepNode(name, event);
  }

  announce(name: PushEventName, data: Readonly<Record<string, unknown>>, standing?: JobNodeStanding): void {
    const { job } = this;
    job.seq += 1;
    this.events.push(jobEvent(job, job.seq, name, data, standing));
  }

  #standing(name: string, { status, reason, exitCode, signal }: JobNode): JobNodeStanding {
    return { status, reason, exitCode, signal, output: this.#deps.outputs.totals(outputOf(this.job.id, name)) };
  }

  saveJob(): void {
    this.writes.push(savePushJob(jobRow(this.job)));
  }

  saveNode(name: string, node: JobNode): void {
    const { outputs } = this.#deps;
    const of = outputOf(this.job.id, name);
    const hash = isFinal(node.status) ? outputs.hash(of) : null;
    const output = { bytes: outputs.totals(of), missing: this.#missingOutput(name, node), hash };
    this.writes.push(savePushJobNode(jobNodeRow(this.job, name, node, output, this.#deps.clock.now())));
  }

  /** Why captured output may be incomplete, besides the limit: the command ended in a way that nobody told it whole. */
  #missingOutput(name: string, node: JobNode): string | null {
    const ran = isFinal(node.status) && node.startedAt !== null;
    if (!ran || !this.job.spec.capture || this.#deps.outputs.isWhole(outputOf(this.job.id, name))) return null;
    return node.reason ?? 'the node did not tell how much there was';
  }

  /** A defect ends the job; its nodes must not stay owned for ever. */
  crash(): void {
    const { job } = this;
    job.state = {
      ...job.state,
      phase: 'finished',
      status: 'crashed',
      ending: null,
      reason: 'internal error',
      deadline: null,
    };
    job.updatedAt = this.#deps.clock.now();
    this.stepUnfinished({ type: 'close', ending: 'crashed' });
    this.saveJob();
    this.events.push(jobChanged(job));
  }

  #carryOut(effect: JobEffect): void {
    const { job } = this;
    switch (effect.type) {
      case 'ask':
        for (const name of job.unfinished) {
          const node = job.nodes.get(name);
          if (node?.status === 'new' && node.waits === null) this.#send('prepare', name);
        }
        return;
      case 'expire_votes':
        this.stepUnfinished({ type: 'vote_expired' });
        return;
      case 'start':
        for (let i = 0; i < effect.count; i++) {
          const name = job.nextReady();
          if (name === undefined) return;
          this.stepNode(name, { type: 'start' });
        }
        return;
      case 'wake_at':
        this.wakeAt = effect.at;
        return;
      case 'stop_starting':
        this.stepUnfinished({ type: 'not_started', reason: effect.reason });
        return;
      case 'abort_nodes': {
        const ending = endingOf(job);
        this.stepUnfinished({ type: 'abort', ending, reason: job.state.reason ?? ending });
        return;
      }
      case 'close':
        this.stepUnfinished({ type: 'close', ending: endingOf(job) });
        return;
      case 'announce':
        this.announce(effect.name, announced(effect.name, job));
        return;
    }
  }

  #send(order: Order, name: string): void {
    const names = this.sends.get(order);
    if (names === undefined) this.sends.set(order, [name]);
    else names.push(name);
  }
}

function announced(
  name: Extract<JobEffect, { type: 'announce' }>['name'],
  { state }: LiveJob,
): Record<string, unknown> {
  switch (name) {
    case 'quorum_succeeded':
      return {};
    case 'batch':
      return batchTold(state.stage ?? UNLIMITED);
    case 'job_complete':
      return { status: state.status };
  }
}

/** A job without batches that was held has gone on. */
function batchTold({ batch, hold, left }: Stage): Record<string, unknown> {
  return { batch, status: hold ?? (left === null ? 'continued' : 'begun') };
}

/** Announcements from which the node's new status is known. */
function tellsStatus(effect: JobNodeEffect): boolean {
  return effect.type === 'announce' && effect.name !== 'rehab';
}

/** What this node speaks; our own dialect until it is known. */
export function dialectOf({ nodes }: Pick<TurnDeps, 'nodes'>, job: LiveJob, name: string): DialectCodec {
  return dialects[nodes.get(job.org.id, name)?.dialect ?? 'native'];
}

/** The same for every step of a job, and steps are many. */
const rules = new WeakMap<LiveJob, JobRules>();

function rulesOf(job: LiveJob, { heartbeat, push }: PushControllerDeps['config']): JobRules {
  const known = rules.get(job);
  if (known !== undefined) return known;
  const abortingTimeout = push.aborting_timeout ?? heartbeat.interval * heartbeat.offline_threshold + 5;
  const made = { ...job.spec, abortingTimeout };
  rules.set(job, made);
  return made;
}

function endingOf({ state }: LiveJob): FinalPushJobStatus {
  if (state.ending !== null) return state.ending;
  switch (state.status) {
    case 'new':
    case 'voting':
    case 'running':
      return 'complete';
    default:
      return state.status;
  }
}
