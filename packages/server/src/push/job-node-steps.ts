import type { JobNode, JobNodeEffect, JobNodeStep, RunEnd, Vote } from './job-node.js';
import type { JobNodeStatus } from './types.js';

/** The steps that the states of a job-node have in common. */

/** Heartbeats that must contradict in a row: one may have crossed a message on its way. */
export const CONTRADICTIONS_UNTIL_SURE = 2;

export function contradict(node: JobNode, reason: string): JobNodeStep {
  const contradictions = node.contradictions + 1;
  if (contradictions >= CONTRADICTIONS_UNTIL_SURE) return crash(node, reason);
  return stay({ ...node, contradictions });
}

/** The same object when nothing changes: every other one is stored, and heartbeats are not. */
export function agreeing(node: JobNode): JobNode {
  return node.contradictions === 0 ? node : { ...node, contradictions: 0 };
}

/** §5.5.3: a node that does something wrong is failed and goes to rehab; nobody tries to fix it. */
export function crash(node: JobNode, reason: string): JobNodeStep {
  return end(node, 'crashed', reason, 'rehab', [rehabbed, runEnd('crashed')]);
}

export function end(
  node: JobNode,
  status: JobNodeStatus,
  reason: string | null,
  to: 'idle' | 'rehab',
  announcements: readonly JobNodeEffect[],
): JobNodeStep {
  return {
    node: { ...node, status, starting: false, reason },
    effects: [...announcements, { type: 'release', to }],
  };
}

export const rehabbed: JobNodeEffect = { type: 'announce', name: 'rehab' };

export function vote(status: Vote): JobNodeEffect {
  return { type: 'announce', name: 'quorum_vote', status };
}

export function runEnd(status: RunEnd): JobNodeEffect {
  return { type: 'announce', name: 'run_complete', status };
}

export function stay(node: JobNode): JobNodeStep {
  return { node, effects: [] };
}
