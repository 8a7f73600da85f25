import type { CommandResult } from '@muster/wire';
import type { JobNode, JobNodeContext, JobNodeEvent, JobNodeStep, Report } from './job-node.js';
import {
  agreeing,
  CONTRADICTIONS_UNTIL_SURE,
  contradict,
  crash,
  end,
  rehabbed,
  runEnd,
  stay,
} from './job-node-steps.js';
import type { FinalJobStatus, JobNodeStatus } from './types.js';

/** A job-node from its start to its end (§5.3.4-5.3.7). */

/** Start was sent, not yet confirmed. */
export function stepStarting(node: JobNode, event: JobNodeEvent, context: JobNodeContext): JobNodeStep {
  switch (event.type) {
    case 'started':
      return begun(node, context.now);
    case 'finished': {
      // `started` was lost on the way. A dialect that cannot repeat loses nothing, so there it is misbehaviour.
      if (!context.repeatable) return crash(node, 'reported a result without having started');
      const ended = finished({ ...node, startedAt: context.now }, event.result);
      return { node: ended.node, effects: [{ type: 'announce', name: 'run_start' }, ...ended.effects] };
    }
    case 'heartbeat':
      if (context.phase === 'aborting') return heardWhileAborting(node, event.report, context.ending);
      if (
        context.repeatable &&
        (event.report === 'waiting' || event.report === 'ended' || event.report === 'running')
      ) {
        return { node, effects: [{ type: 'send', message: 'start' }] };
      }
      if (event.report === 'absent') return contradict(node, 'forgot the job before it started');
      // A dialect that cannot repeat: its confirmation is lost, or the start is.
      return event.report === 'running' ? begun(node, context.now) : stillWaiting(node, event.report);
    case 'error':
      return context.phase === 'aborting'
        ? end(node, stoppedStatus(context.ending, false), event.reason, 'rehab', [])
        : end(node, 'failed', event.reason, 'rehab', [rehabbed, runEnd('run_nacked')]);
    case 'aborted':
      return context.phase === 'aborting'
        ? stopped(node, event.settled, context.ending, event.from === 'running' || event.from === 'terminating')
        : crash(node, 'aborted by itself');
    case 'ack':
      return context.repeatable ? stay(node) : crash(node, 'committed twice');
    default:
      return stepStarted(node, event);
  }
}

/** It cannot be told twice to start without being failed for it, so it must have said twice that it still waits. */
function stillWaiting(node: JobNode, report: Report): JobNodeStep {
  if (report !== 'waiting') return stay(node);
  const contradictions = node.contradictions + 1;
  if (contradictions < CONTRADICTIONS_UNTIL_SURE) return stay({ ...node, contradictions });
  return { node: agreeing(node), effects: [{ type: 'send', message: 'start' }] };
}

function begun(node: JobNode, now: number): JobNodeStep {
  return {
    node: { ...node, status: 'running', starting: false, startedAt: now, contradictions: 0 },
    effects: [{ type: 'announce', name: 'run_start' }],
  };
}

/** Has confirmed that the command runs. */
export function stepRunning(node: JobNode, event: JobNodeEvent, context: JobNodeContext): JobNodeStep {
  switch (event.type) {
    case 'started':
      return stay(agreeing(node));
    case 'finished':
      return finished(node, event.result);
    case 'heartbeat':
      if (context.phase === 'aborting') return heardWhileAborting(node, event.report, context.ending);
      if (event.report === 'running') return stay(agreeing(node));
      // `finished` was lost: start for a job that has ended is answered by its result again.
      if (event.report === 'ended' && context.repeatable)
        return { node, effects: [{ type: 'send', message: 'start' }] };
      return contradict(node, 'stopped running the job without a result');
    case 'error':
      return end(node, 'failed', event.reason, 'rehab', [rehabbed, runEnd('run_nacked_while_running')]);
    case 'aborted':
      return context.phase === 'aborting'
        ? stopped(node, event.settled, context.ending, true)
        : crash(node, 'aborted by itself');
    case 'ack':
      return context.repeatable ? stay(node) : crash(node, 'committed while running');
    default:
      return stepStarted(node, event);
  }
}

/** What starting and running nodes have in common. */
function stepStarted(node: JobNode, event: JobNodeEvent): JobNodeStep {
  switch (event.type) {
    case 'nack':
      return crash(node, `refused while it should run: ${event.reason}`);
    case 'down':
      return crash(node, 'down while executing');
    case 'restarted':
      return crash(node, `${event.how} while executing`);
    case 'agent_crashed':
      return crash(node, 'the agent crashed while executing');
    case 'misbehaved':
      return crash(node, event.reason);
    case 'node_timeout':
      // Rehab sends the abort and repeats it until the node obeys.
      return end(node, 'timed_out', `not finished within ${event.seconds} s`, 'rehab', [runEnd('timed_out')]);
    case 'abort':
      return { node, effects: [{ type: 'send', message: 'abort' }] };
    case 'close':
      return end(node, stoppedStatus(event.ending, node.status === 'running'), 'did not answer the abort', 'rehab', []);
    default:
      return stay(node);
  }
}

function finished(node: JobNode, result: CommandResult): JobNodeStep {
  const ended = { ...node, exitCode: result.exitCode, signal: result.signal };
  switch (result.outcome) {
    case 'succeeded':
      return end(ended, 'succeeded', result.reason, 'idle', [runEnd('success')]);
    case 'failed':
      return end(ended, 'failed', result.reason, 'idle', [runEnd('failure')]);
    case 'timed_out':
      // The agent is still killing the command: rehab keeps the node until it is gone (§5.7 Terminating).
      return end(ended, 'timed_out', result.reason, 'rehab', [runEnd('timed_out')]);
  }
}

/**
 * The abort or its answer may be lost, with the server or on the way: it is repeated until the node acknowledges it,
 * or its heartbeats say that it has nothing of this job any more.
 */
function heardWhileAborting(node: JobNode, report: Report, ending: FinalJobStatus | null): JobNodeStep {
  const contradictions = report === 'waiting' || report === 'running' ? 0 : node.contradictions + 1;
  if (contradictions < CONTRADICTIONS_UNTIL_SURE) {
    const heard = contradictions === 0 ? agreeing(node) : { ...node, contradictions };
    return { node: heard, effects: [{ type: 'send', message: 'abort' }] };
  }
  return stopped(node, false, ending, node.status === 'running' || report === 'ended');
}

/** Acknowledged the abort. Not settled: the command is still being killed, rehab waits for that. */
function stopped(node: JobNode, settled: boolean, ending: FinalJobStatus | null, ran: boolean): JobNodeStep {
  const reason = ran ? 'aborted while executing' : 'not started';
  const announcements = ran && ending === 'aborted' ? [runEnd('aborted')] : [];
  return end(node, stoppedStatus(ending, ran), reason, settled ? 'idle' : 'rehab', announcements);
}

function stoppedStatus(ending: FinalJobStatus | null, ran: boolean): JobNodeStatus {
  if (ending === 'timed_out' || ending === 'crashed') return ending;
  return ran ? 'aborted' : 'was_ready';
}
