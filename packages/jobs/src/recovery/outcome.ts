import { SystemTrouble } from '../systems/types.js';
import { Blocked, Failed, type Job } from '../types.js';
import { obstacleOf, ruleOf } from './conditions/index.js';

/** A job that was blocked so often has something that no test sees. Waiting for one's turn does not count. */
const MOST_BLOCKS = 100;
/** An error may be the cause of another, which may be the cause of another. */
const MOST_CAUSES = 10;

/**
 * What an error of a phase means for its job: that it is blocked, or that it has failed. null: neither is known of it, it is a
 * fault of Muster.
 */
export function outcomeOf(error: unknown, job: Pick<Job, 'workPath' | 'blockedCount'>): Blocked | Failed | null {
  let cause = error;
  for (let depth = 0; depth < MOST_CAUSES && cause instanceof Error; depth++, cause = cause.cause) {
    if (cause instanceof Failed) return cause;
    if (cause instanceof Blocked) return bounded(cause, job);
    const obstacle = cause instanceof SystemTrouble ? obstacleOf(cause, job) : null;
    if (obstacle !== null) return bounded(new Blocked(obstacle, { cause }), job);
  }
  return null;
}

function bounded(blocked: Blocked, { blockedCount }: Pick<Job, 'blockedCount'>): Blocked | Failed {
  if (blockedCount < MOST_BLOCKS || ruleOf(blocked.obstacle.condition)?.isTurn) return blocked;
  const often = `It was blocked ${blockedCount} times, and tests see nothing wrong: ${blocked.message}`;
  return new Failed('JOB_RECOVERY_FAILURE', often, { cause: blocked });
}
