import type { AgentMessage, AgentState, ServerMessage } from '@muster/wire';

/** What a simulated node is doing. It has no command, so it never stays running. */
export interface NoOpState {
  readonly state: Extract<AgentState, 'ready' | 'waiting'>;
  readonly jobId: string | null;
}

export const READY: NoOpState = { state: 'ready', jobId: null };

export interface NoOpStep {
  readonly state: NoOpState;
  readonly replies: readonly AgentMessage[];
}

/**
 * A node whose every command succeeds at once: prepare is acknowledged, start is answered with started and finished,
 * abort with aborted. Pure; the rows are those of Push Jobs §5.7 that such a node can reach.
 */
export function noOp(state: NoOpState, message: ServerMessage): NoOpStep {
  switch (message.type) {
    case 'prepare':
      return prepared(state, message.jobId);
    case 'start':
      if (state.jobId !== message.jobId) {
        return { state, replies: [{ type: 'error', jobId: message.jobId, reason: 'not waiting for this job' }] };
      }
      return {
        state: READY,
        replies: [{ type: 'started', jobId: message.jobId }, succeeded(message.jobId)],
      };
    case 'abort':
      return {
        state: READY,
        replies: [{ type: 'aborted', jobId: state.jobId, from: state.state, settled: true }],
      };
    default:
      return { state, replies: [] };
  }
}

function prepared(state: NoOpState, jobId: string): NoOpStep {
  // A repeated prepare is answered again (decision N12).
  if (state.state === 'ready' || state.jobId === jobId) {
    return { state: { state: 'waiting', jobId }, replies: [{ type: 'ack', jobId }] };
  }
  return { state, replies: [{ type: 'nack', jobId, reason: 'busy', currentJobId: state.jobId }] };
}

/** @param written Bytes on stdout; null: they were not kept. */
export function succeeded(jobId: string, written: number | null = null): AgentMessage {
  return {
    type: 'finished',
    jobId,
    outcome: 'succeeded',
    exitCode: 0,
    signal: null,
    reason: null,
    output: null,
    bytes: written === null ? null : { stdout: written, stderr: 0 },
  };
}
