import type { LiveJob } from './live-job.js';
import { dialectOf, type Turn, type TurnDeps } from './turn.js';

/** A native agent enforces the node timeout itself; the server steps in this much later. */
const NODE_TIMEOUT_GRACE_MS = 10_000;
/** Nodes whose time is over are looked for at most this often. */
const SWEEP_MS = 200;

/** The timers of jobs, all computed from times that are stored. What they find due becomes an event in a turn. */
export class JobTimers {
  readonly #deps: Pick<TurnDeps, 'clock' | 'nodes'>;
  readonly #turn: (job: LiveJob, work: (turn: Turn) => void) => void;

  constructor(deps: Pick<TurnDeps, 'clock' | 'nodes'>, turn: (job: LiveJob, work: (turn: Turn) => void) => void) {
    this.#deps = deps;
    this.#turn = turn;
  }

  /** The end of the job's phase. */
  armDeadline(job: LiveJob): void {
    job.deadlineTimer?.cancel();
    job.deadlineTimer = null;
    const { deadline } = job.state;
    if (deadline === null) return;
    const { clock } = this.#deps;
    job.deadlineTimer = clock.after(deadline - clock.now(), () => {
      const now = Math.max(clock.now(), deadline);
      this.#turn(job, (turn) => turn.stepJob({ type: 'deadline', now }));
    });
  }

  /** The next start under a start rate. */
  armWake(job: LiveJob, at: number): void {
    const { clock } = this.#deps;
    job.wakeTimer?.cancel();
    job.wakeTimer = clock.after(at - clock.now(), () => {
      this.#turn(job, (turn) => turn.stepJob({ type: 'wake', now: clock.now() }));
    });
  }

  armAckTimeout(job: LiveJob): void {
    const seconds = job.spec.ackTimeout;
    if (seconds === null || job.state.phase === 'finished') return;
    const { clock } = this.#deps;
    const delayMs = Math.max(job.createdAt + seconds * 1000 - clock.now(), job.graceUntilMs - clock.monotonic());
    job.ackTimer = clock.after(delayMs, () => {
      this.#turn(job, (turn) => {
        for (const name of [...job.unfinished]) {
          // Those that are waited for have it from when they are asked on.
          if (job.nodes.get(name)?.waits === null) turn.stepNode(name, { type: 'ack_timeout', seconds });
        }
      });
    });
  }

  /** Until then busy nodes are waited for. */
  armWaitTimeout(job: LiveJob): void {
    const seconds = job.spec.waitTimeout;
    if (seconds === undefined || job.state.phase === 'finished' || job.tally.waiting === 0) return;
    const { clock } = this.#deps;
    const delayMs = Math.max(job.createdAt + seconds * 1000 - clock.now(), job.graceUntilMs - clock.monotonic());
    job.waitTimer = clock.after(delayMs, () => {
      this.#turn(job, (turn) => turn.stepUnfinished({ type: 'wait_over', seconds }));
    });
  }

  /** One timer per job: nodes that were waited for, were asked and say nothing. */
  armLateVote(job: LiveJob): void {
    if (job.voteTimer !== null) return;
    const { clock } = this.#deps;
    const seconds = job.spec.ackTimeout ?? job.spec.votingTimeout;
    const asked = (): string[] => [...job.unfinished].filter((name) => job.nodes.get(name)?.waits === 'vote');
    const dueMs = (name: string): number =>
      Math.max((job.askedSinceMs.get(name) ?? clock.monotonic()) + seconds * 1000, job.graceUntilMs);
    const names = asked();
    if (names.length === 0) return;
    const earliest = names.reduce((least, name) => Math.min(least, dueMs(name)), Number.POSITIVE_INFINITY);
    job.voteTimer = clock.after(Math.max(earliest - clock.monotonic(), SWEEP_MS), () => {
      job.voteTimer = null;
      const nowMs = clock.monotonic();
      this.#turn(job, (turn) => {
        for (const name of asked()) if (dueMs(name) <= nowMs) turn.stepNode(name, { type: 'ack_timeout', seconds });
      });
      if (job.state.phase !== 'finished') this.armLateVote(job);
    });
  }

  /** One timer per job: the earliest start plus the limit. */
  armNodeTimeout(job: LiveJob): void {
    const seconds = job.spec.nodeTimeout;
    if (seconds === null || job.nodeTimer !== null || job.tally.running === 0) return;
    const { clock } = this.#deps;
    let earliest = Number.POSITIVE_INFINITY;
    for (const name of job.unfinished) {
      const node = job.nodes.get(name);
      if (node?.status === 'running') earliest = Math.min(earliest, this.#dueMs(job, name, seconds));
    }
    job.nodeTimer = clock.after(Math.max(earliest - clock.monotonic(), SWEEP_MS), () => {
      job.nodeTimer = null;
      const nowMs = clock.monotonic();
      this.#turn(job, (turn) => {
        for (const name of [...job.unfinished]) {
          const node = job.nodes.get(name);
          if (node?.status !== 'running' || this.#dueMs(job, name, seconds) > nowMs) continue;
          turn.stepNode(name, { type: 'node_timeout', seconds });
        }
      });
      if (job.state.phase === 'running') this.armNodeTimeout(job);
    });
  }

  /** By the monotonic clock. */
  #dueMs(job: LiveJob, name: string, seconds: number): number {
    const grace = dialectOf(this.#deps, job, name).repeatable ? NODE_TIMEOUT_GRACE_MS : 0;
    return Math.max(
      (job.runningSinceMs.get(name) ?? this.#deps.clock.monotonic()) + seconds * 1000 + grace,
      job.graceUntilMs,
    );
  }
}
