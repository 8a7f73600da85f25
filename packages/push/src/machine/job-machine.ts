import type { FinalPushJobStatus, PushJobPhase, PushJobSpec, PushJobStatus } from '../types.js';
import { between, firstStage, isThrough, nextBatch, type Stage, UNLIMITED } from './stage.js';

/**
 * The job machine of Push Jobs §5.6.2 with the aggregate detection folded in: it sees counts of nodes, never single
 * nodes, so a step costs the same for three nodes and for ten thousand. What a single node does is the other machine's
 * business (`node-machine.ts`).
 *
 * | state    | event              | action                                                       | next     |
 * |----------|--------------------|--------------------------------------------------------------|----------|
 * | new      | begin, load        | ask nodes                                                    | voting   |
 * | voting   | load               | ask nodes again                                              | voting   |
 * | voting   | tallied, all voted | quorum: start nodes                                          | running  |
 * | voting   | tallied, all voted | no quorum yet, but with those that are waited for            | voting   |
 * | voting   | tallied, all voted | no quorum                                                    | aborting |
 * | voting   | deadline           | expire votes; quorum: start nodes, late votes still count    | running  |
 * | voting   | deadline           | expire votes; no quorum yet: no deadline, but that of waits  | voting   |
 * | voting   | deadline           | expire votes; no quorum                                      | aborting |
 * | running  | load, tallied, wake| start as many as the limits allow                            | running  |
 * | running  | tallied, failures  | more failures than allowed: start no more, nor late arrivals | running  |
 * | running  | tallied, batch     | its nodes have ended: the next one, or a hold before it       | running  |
 * | running  | wake, continue     | the hold is over: start nodes                                | running  |
 * | running  | tallied, failures  | `hold`: start no more until continued                        | running  |
 * | running  | tallied, failures  | `abort`: abort nodes                                         | aborting |
 * | running  | tallied, all exited| close                                                        | finished |
 * | running  | deadline           | abort nodes                                                  | aborting |
 * | any live | abort              | abort nodes                                                  | aborting |
 * | aborting | load               | abort nodes again                                            | aborting |
 * | aborting | tallied, all exited| close                                                        | finished |
 * | aborting | deadline           | close regardless of who has answered                         | finished |
 * | finished | anything           |                                                              | finished |
 *
 * *All voted* leaves out nodes that are busy and waited for (`waiting`): they vote when their turn has come, which is
 * bounded by the limit on waiting and by the time they have for an answer, and keep a running job open until then.
 */
export interface JobState {
  readonly phase: PushJobPhase;
  /** What REST shows; while aborting, the status it came from. */
  readonly status: PushJobStatus;
  /** While aborting: how the job will end. */
  readonly ending: FinalPushJobStatus | null;
  readonly reason: string | null;
  /**
   * When the phase times out, in milliseconds since the epoch; null when it cannot. While voting: null once the votes have
   * expired, and the quorum hangs on nodes that are waited for.
   */
  readonly deadline: number | null;
  /** Earliest time of the next start under a start rate. */
  readonly nextStartAt: number;
  /** True once more nodes failed than `maxFailures` allows. */
  readonly stopped: boolean;
  /** Of a job that runs in batches, or was held; see `Stage`. */
  readonly stage: Stage | null;
}

/** How many nodes stand where. `starting` are the ready ones to which start was sent. */
export interface Tally {
  readonly new: number;
  /** Busy when they were to be asked: they wait for their turn, or have been asked since and not voted. */
  readonly waiting: number;
  readonly ready: number;
  readonly starting: number;
  readonly running: number;
  /** failed, crashed or timed_out after the start. */
  readonly failures: number;
}

export const EMPTY_TALLY: Tally = { new: 0, waiting: 0, ready: 0, starting: 0, running: 0, failures: 0 };

export type JobEvent =
  | { readonly type: 'begin'; readonly now: number }
  /** The job was read from the store after a restart. */
  | { readonly type: 'load'; readonly now: number; readonly graceMs: number }
  /** Some node changed its standing. */
  | { readonly type: 'tallied'; readonly now: number }
  /** The start rate allows another start. */
  | { readonly type: 'wake'; readonly now: number }
  | { readonly type: 'deadline'; readonly now: number }
  /** Somebody says to go on. */
  | { readonly type: 'continue'; readonly now: number }
  | { readonly type: 'abort'; readonly now: number; readonly reason: string };

export type JobEffect =
  /** Send prepare to every node without a vote. */
  | { readonly type: 'ask' }
  /** The voting timeout has passed for every node without a vote. */
  | { readonly type: 'expire_votes' }
  /** Start this many of the ready nodes, first come first served. */
  | { readonly type: 'start'; readonly count: number }
  /** Come back at this time to start more. */
  | { readonly type: 'wake_at'; readonly at: number }
  /** Ready nodes will not be started any more. */
  | { readonly type: 'stop_starting'; readonly reason: string }
  /** Every unfinished node learns that the job is being aborted. */
  | { readonly type: 'abort_nodes' }
  /** Every unfinished node gets its final status. */
  | { readonly type: 'close' }
  | { readonly type: 'announce'; readonly name: 'quorum_succeeded' | 'batch' | 'job_complete' };

export interface JobStep {
  readonly job: JobState;
  readonly effects: readonly JobEffect[];
}

export const NEW_JOB: JobState = {
  phase: 'new',
  status: 'new',
  ending: null,
  reason: null,
  deadline: null,
  nextStartAt: 0,
  stopped: false,
  stage: null,
};

/** What the machine needs to know of the job's request. `abortingTimeout` in seconds comes from the server's settings. */
export type JobRules = Pick<
  PushJobSpec,
  | 'quorum'
  | 'votingTimeout'
  | 'runTimeout'
  | 'concurrency'
  | 'startRate'
  | 'maxFailures'
  | 'batches'
  | 'batchPause'
  | 'batchConfirm'
  | 'onFailures'
> & { readonly abortingTimeout: number };

/** Credit that a start rate may save up while other limits hold starts back. */
const MAX_START_CREDIT_MS = 100;

export function stepJob(job: JobState, tally: Tally, rules: JobRules, event: JobEvent): JobStep {
  switch (job.phase) {
    case 'new':
      return stepNew(job, rules, event);
    case 'voting':
      return stepVoting(job, tally, rules, event);
    case 'running':
      return stepRunning(job, tally, rules, event);
    case 'aborting':
      return stepAborting(job, tally, rules, event);
    case 'finished':
      return stay(job);
  }
}

function stepNew(job: JobState, rules: JobRules, event: JobEvent): JobStep {
  switch (event.type) {
    case 'begin':
    case 'load': {
      const graceMs = event.type === 'load' ? event.graceMs : 0;
      const deadline = event.now + Math.max(rules.votingTimeout * 1000, graceMs);
      return { job: { ...job, phase: 'voting', status: 'voting', deadline }, effects: [{ type: 'ask' }] };
    }
    case 'abort':
      return abort(job, rules, event.now, 'aborted', event.reason);
    case 'tallied':
    case 'wake':
    case 'deadline':
    case 'continue':
      return stay(job);
  }
}

function stepVoting(job: JobState, tally: Tally, rules: JobRules, event: JobEvent): JobStep {
  switch (event.type) {
    case 'load':
      return { job: extend(job, rules.votingTimeout, event), effects: [{ type: 'ask' }] };
    case 'tallied':
      if (tally.new > 0 && job.deadline !== null) return stay(job);
      return decide(job, tally, rules, event.now, []);
    case 'deadline':
      return decide(job, tally, rules, event.now, [{ type: 'expire_votes' }]);
    case 'abort':
      return abort(job, rules, event.now, 'aborted', event.reason);
    case 'begin':
    case 'wake':
    case 'continue':
      return stay(job);
  }
}

/** N9: execution starts when the quorum is reached and every node has voted or the voting timeout has passed. */
function decide(job: JobState, tally: Tally, rules: JobRules, now: number, before: readonly JobEffect[]): JobStep {
  if (tally.ready < rules.quorum) {
    if (tally.ready + tally.waiting >= rules.quorum) {
      // What was not answered by now is not waited for: only those whose turn has not come.
      return before.length === 0 ? stay(job) : { job: { ...job, deadline: null }, effects: before };
    }
    const ready = tally.ready === 1 ? '1 node was ready' : `${tally.ready} nodes were ready`;
    const reason = `${ready}, and ${rules.quorum} ${rules.quorum === 1 ? 'is' : 'are'} needed`;
    const aborting = abort(job, rules, now, 'quorum_failed', reason);
    return { job: aborting.job, effects: [...before, ...aborting.effects] };
  }
  const running: JobState = {
    ...job,
    phase: 'running',
    status: 'running',
    deadline: now + rules.runTimeout * 1000,
    nextStartAt: now,
    stage: firstStage(rules),
  };
  const started = startMore(running, tally, rules, now);
  const begun: readonly JobEffect[] = running.stage === null ? [] : [announceBatch];
  return {
    job: started.job,
    effects: [...before, { type: 'announce', name: 'quorum_succeeded' }, ...begun, ...started.effects],
  };
}

function stepRunning(job: JobState, tally: Tally, rules: JobRules, event: JobEvent): JobStep {
  switch (event.type) {
    case 'load':
      return proceed(extend(job, rules.runTimeout, event), tally, rules, event.now);
    case 'tallied':
    case 'wake': {
      const over = tally.waiting + tally.ready + tally.starting + tally.running === 0;
      const failed = job.stopped || job.stage?.hold === 'failures' ? null : tooManyFailures(job, tally, rules);
      if (failed !== null && !(over && rules.onFailures !== undefined)) return brake(job, rules, event.now, failed);
      // A late vote: a ready node that is never started would keep the job open, and so would one that is waited for.
      if (job.stopped && tally.ready + tally.waiting > 0) {
        return { job, effects: [{ type: 'stop_starting', reason: job.reason ?? 'not started' }] };
      }
      if (over) return finish(job, 'complete', job.stopped ? job.reason : null);
      return proceed(job, tally, rules, event.now);
    }
    case 'continue':
      return goOn(job, tally, rules, event.now);
    case 'deadline':
      return abort(job, rules, event.now, 'timed_out', `not finished within ${rules.runTimeout} s`);
    case 'abort':
      return abort(job, rules, event.now, 'aborted', event.reason);
    case 'begin':
      return stay(job);
  }
}

function stepAborting(job: JobState, tally: Tally, rules: JobRules, event: JobEvent): JobStep {
  switch (event.type) {
    case 'load':
      return { job: extend(job, rules.abortingTimeout, event), effects: [{ type: 'abort_nodes' }] };
    case 'tallied':
      // §5.6.2 All Nodes Exited: only those that may have started keep the job open.
      if (tally.starting + tally.running > 0) return stay(job);
      return finish(job, job.ending ?? 'aborted', job.reason);
    case 'deadline':
      return finish(job, job.ending ?? 'aborted', job.reason);
    case 'abort':
    case 'begin':
    case 'wake':
    case 'continue':
      return stay(job);
  }
}

/** What is said when more nodes failed than the job allows; null: they did not. */
function tooManyFailures({ stage }: JobState, tally: Tally, { maxFailures }: JobRules): string | null {
  const excused = stage?.excused ?? 0;
  if (maxFailures === null || tally.failures <= maxFailures + excused) return null;
  const failed = tally.failures - excused;
  return `${failed}${excused === 0 ? '' : ' more'} ${failed === 1 ? 'node' : 'nodes'} failed, ${maxFailures} allowed`;
}

/** Those that were not started end so, or wait until somebody says to go on, or all are aborted, also what runs. */
function brake(job: JobState, rules: JobRules, now: number, failed: string): JobStep {
  if (rules.onFailures === 'abort') return abort(job, rules, now, 'aborted', failed);
  if (rules.onFailures === 'hold') {
    return hold(job, { ...(job.stage ?? UNLIMITED), hold: 'failures', until: null }, failed);
  }
  const reason = `not started: ${failed}`;
  return { job: { ...job, stopped: true, reason }, effects: [{ type: 'stop_starting', reason }] };
}

/** One batch after the other; within it as many as the limits allow. */
function proceed(job: JobState, tally: Tally, rules: JobRules, now: number): JobStep {
  const { stage } = job;
  if (stage === null) return startMore(job, tally, rules, now);
  switch (stage.hold) {
    case 'failures':
    case 'confirm':
      return stay(job);
    case 'pause': {
      const until = Math.min(stage.until ?? now, now + (rules.batchPause ?? 0) * 1000);
      if (now < until) return { job, effects: [{ type: 'wake_at', at: until }] };
      return startBatch(job, nextBatch(stage, rules), tally, rules, now);
    }
    case null: {
      if (!isThrough(stage, tally.starting + tally.running)) return startMore(job, tally, rules, now);
      const next = between(stage, rules, now);
      if (next.hold === null) return startBatch(job, next, tally, rules, now);
      const held = hold(
        job,
        next,
        next.hold === 'pause' ? `batch ${stage.batch} has ended: the next follows` : waitsForYes(stage),
      );
      const wake: readonly JobEffect[] = next.until === null ? [] : [{ type: 'wake_at', at: next.until }];
      return { job: held.job, effects: [...held.effects, ...wake] };
    }
  }
}

/** Somebody has looked, and says to go on. Harmless when nothing is held. */
function goOn(job: JobState, tally: Tally, rules: JobRules, now: number): JobStep {
  const { stage } = job;
  if (stage === null || stage.hold === null) return stay(job);
  const free = { ...stage, hold: null, until: null };
  if (stage.hold !== 'failures') return startBatch(job, nextBatch(stage, rules), tally, rules, now);
  const excusing = { ...free, excused: tally.failures };
  // Whoever goes on after the failures of a batch that is through need not be asked again for the next one.
  const next = isThrough(stage, tally.starting + tally.running) ? nextBatch(excusing, rules) : excusing;
  return startBatch(job, next, tally, rules, now);
}

function startBatch(job: JobState, stage: Stage, tally: Tally, rules: JobRules, now: number): JobStep {
  const started = startMore({ ...job, stage, reason: null }, tally, rules, now);
  return { job: started.job, effects: [announceBatch, ...started.effects] };
}

function hold(job: JobState, stage: Stage, reason: string): JobStep {
  return { job: { ...job, stage, reason }, effects: [announceBatch] };
}

const announceBatch: JobEffect = { type: 'announce', name: 'batch' };

function waitsForYes({ batch }: Stage): string {
  return `batch ${batch} has ended: the next waits until somebody continues the job`;
}

/** §8.1.4 and §5.3: at most `concurrency` nodes at once, at most `startRate` starts a second. */
function startMore(job: JobState, tally: Tally, rules: JobRules, now: number): JobStep {
  if (job.stopped || tally.ready === 0) return stay(job);
  const free = rules.concurrency === null ? tally.ready : rules.concurrency - tally.starting - tally.running;
  const wanted = Math.min(tally.ready, free, job.stage?.left ?? tally.ready);
  if (wanted <= 0) return stay(job);
  if (rules.startRate === null) return { job: counted(job, wanted), effects: [{ type: 'start', count: wanted }] };

  const gapMs = 1000 / rules.startRate;
  // Never later than one gap from now, or a clock that was set back would hold the starts up.
  const from = Math.min(Math.max(job.nextStartAt, now - MAX_START_CREDIT_MS), now + gapMs);
  const allowed = now < from ? 0 : Math.floor((now - from) / gapMs) + 1;
  const count = Math.min(wanted, allowed);
  const nextStartAt = from + count * gapMs;
  const effects: JobEffect[] = count > 0 ? [{ type: 'start', count }] : [];
  if (count < wanted) effects.push({ type: 'wake_at', at: Math.ceil(nextStartAt) });
  return { job: count === 0 ? job : { ...counted(job, count), nextStartAt }, effects };
}

/** What is started counts in its batch. */
function counted(job: JobState, count: number): JobState {
  const { stage } = job;
  if (stage === null || stage.left === null) return job;
  return { ...job, stage: { ...stage, left: stage.left - count } };
}

function abort(job: JobState, rules: JobRules, now: number, ending: FinalPushJobStatus, reason: string): JobStep {
  return {
    job: { ...job, phase: 'aborting', ending, reason, deadline: now + rules.abortingTimeout * 1000 },
    effects: [{ type: 'abort_nodes' }],
  };
}

function finish(job: JobState, status: FinalPushJobStatus, reason: string | null): JobStep {
  return {
    job: { ...job, phase: 'finished', status, ending: null, reason, deadline: null },
    effects: [{ type: 'close' }, { type: 'announce', name: 'job_complete' }],
  };
}

/**
 * After a restart nodes need time to reconnect and report before a phase may time out. Nor may it last longer than its
 * whole timeout from now: then the clock was set back since it began.
 */
function extend(job: JobState, seconds: number, { now, graceMs }: Extract<JobEvent, { type: 'load' }>): JobState {
  if (job.deadline === null) return job;
  return { ...job, deadline: Math.max(Math.min(job.deadline, now + seconds * 1000), now + graceMs) };
}

function stay(job: JobState): JobStep {
  return { job, effects: [] };
}
