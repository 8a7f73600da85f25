import type { PushControllerDeps } from '../ports.js';
import type { LiveJob } from './live-job.js';
import { orderFor } from './messages.js';
import { JobTimers } from './timers.js';
import { Turn, type TurnDeps } from './turn.js';

export interface TransitionsDeps
  extends TurnDeps,
    Pick<PushControllerDeps, 'owners' | 'recorder' | 'logger' | 'feed' | 'counts'> {
  /** The job has reached its end in memory. */
  readonly finished: (job: LiveJob) => void;
  /** The end of these nodes is stored: nothing is added to their output any more; with `all`, to that of none. */
  readonly outputEnded: (job: LiveJob, nodes: readonly string[], all: boolean) => void;
}

/**
 * Carries out what happens to push jobs, one event after the other: each runs both machines to rest, then the changed
 * rows are stored in one commit, then messages and events leave (architecture: save, then act).
 */
export class Transitions {
  readonly timers: JobTimers;
  readonly #deps: TransitionsDeps;
  #stopped = false;

  constructor(deps: TransitionsDeps) {
    this.#deps = deps;
    this.timers = new JobTimers(deps, (job, work) => void this.turn(job, work));
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /** No turn begins any more, and no effect leaves: what is stored goes on with the next server. */
  stop(): void {
    this.#stopped = true;
  }

  /** Resolves when what `work` and the machines changed is durable; false when it never will be. */
  turn(job: LiveJob, work: (turn: Turn) => void): Promise<boolean> {
    if (this.#stopped) return Promise.resolve(false);
    const turn = new Turn(job, this.#deps);
    const { phase: phaseBefore, deadline: deadlineBefore } = job.state;
    try {
      work(turn);
      turn.settle();
    } catch (error) {
      // A defect in one job must not take the server, nor leave its nodes owned for ever.
      this.#deps.logger.error({ err: error, job: job.id }, 'push job crashed');
      turn.crash();
    }
    if (turn.wakeAt !== null) this.timers.armWake(job, turn.wakeAt);
    if (turn.started) this.timers.armNodeTimeout(job);
    if (turn.asked) this.timers.armLateVote(job);
    if (job.state.phase !== phaseBefore || job.state.deadline !== deadlineBefore) this.timers.armDeadline(job);
    const finished = job.state.phase === 'finished';
    if (finished) this.#deps.finished(job);
    return this.#flush(turn, { over: finished, ends: finished && phaseBefore !== 'finished' });
  }

  /**
   * Transitions go to the store before any node is handed on, so that the lane's order keeps a node's next owner
   * from being stored before its end in this job. Messages leave when the commit is durable, and readers hear of the events.
   *
   * @param over The job has ended, with this turn or before: once this is durable, and not when memory says so, which is ahead of it.
   * @param ends With this turn.
   */
  #flush(turn: Turn, { over, ends }: { readonly over: boolean; readonly ends: boolean }): Promise<boolean> {
    const { counts, recorder, clock, owners, logger } = this.#deps;
    const { job, writes, events } = turn;
    // Also what is only repeated (N12) waits for the decision behind it: an earlier turn may still be on its way.
    const durable =
      writes.length + events.length === 0 ? job.stored : recorder.persist(writes, events, job.eventTime(clock.now()));
    job.stored = durable;
    for (const { name, to, reason } of turn.releases) owners.release(job.org.id, job.id, name, to, reason);
    return durable.then(
      () => {
        for (const status of turn.endedNodes) counts.jobNodeEnded(status);
        if (ends) counts.jobEnded(job.state.status, Math.max(0, job.updatedAt - job.createdAt));
        if (!this.#stopped) this.#leave(turn, over);
        return true;
      },
      (error: unknown) => {
        if (!this.#stopped) logger.error({ err: error, job: job.id }, 'a transition of this job could not be stored');
        return false;
      },
    );
  }

  #leave({ job, sends, ended }: Turn, over: boolean): void {
    const { nodes, feed, logger, outputEnded } = this.#deps;
    try {
      for (const [order, names] of sends) nodes.send(job.org.id, names, orderFor(job, order));
      if (over && job.state.status === 'crashed') feed.ended(job.id);
      outputEnded(job, ended, over);
    } catch (error) {
      // Nobody waits for most turns: without this a defect here would end the process.
      logger.error({ err: error, job: job.id }, 'the effects of a transition failed');
    }
  }
}
