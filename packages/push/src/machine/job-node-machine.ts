import { type CommandResult, NOT_WAITING } from '@muster/wire';
import type { FinalPushJobStatus, PushJobNodeStatus } from '../types.js';
import type {
  JobNode,
  JobNodeContext,
  JobNodeEffect,
  JobNodeEvent,
  JobNodeStep,
  Report,
  RunEnd,
  Vote,
} from './job-node.js';

/** Before the reason of a node whose turn has not come. */
const WAITS = 'waits: ';

/** One step of a node inside a push job. */
export function stepNode(node: JobNode, event: JobNodeEvent, context: JobNodeContext): JobNodeStep {
  switch (node.status) {
    case 'new':
      return stepUnvoted(node, event, context);
    case 'ready':
      return node.starting ? stepStarting(node, event, context) : stepReady(node, event, context);
    case 'running':
      return stepRunning(node, event, context);
    default:
      return stay(node);
  }
}

// ---------------------------------------------------------------- until the start

/** A job-node until its start: it is asked for its vote, and waits once it has committed (§5.3.3, sheet §6.2). */

/** Asked, has not voted. */
function stepUnvoted(node: JobNode, event: JobNodeEvent, context: JobNodeContext): JobNodeStep {
  switch (event.type) {
    case 'ack':
      return committed(node);
    case 'nack':
      // Busy with something of its own: it goes back to idle, its refusal is permanent for this job (§5.3.3).
      return end(node, 'nacked', event.reason, 'idle', [vote('failure')]);
    case 'denied':
      // Never claimed, so there is nothing to hand back (N13).
      return { node: { ...node, status: 'nacked', reason: 'permission denied' }, effects: [vote('failure')] };
    case 'unclaimed':
      // Busy with another job is a refusal (§5.3.3); down or in rehab is not being there.
      if (event.why === 'busy') {
        return { node: { ...node, status: 'nacked', reason: event.reason }, effects: [vote('failure')] };
      }
      return {
        node: { ...node, status: 'unavailable', reason: event.reason },
        effects: [vote('down'), { type: 'announce', name: 'rehab' }],
      };
    case 'queued':
      return stay({ ...node, waits: 'turn', reason: `${WAITS}${event.reason}` });
    case 'claimed':
      return { node: { ...node, waits: 'vote', reason: null }, effects: [{ type: 'send', message: 'prepare' }] };
    case 'wait_over': {
      if (node.waits !== 'turn') return stay(node);
      // As if it had not been waited for; the release leaves the queue.
      const why = node.reason?.startsWith(WAITS) === true ? `${node.reason.slice(WAITS.length)}; ` : '';
      const reason = `${why}not free within ${event.seconds} s`;
      return end(node, 'nacked', reason, 'idle', [vote('failure')]);
    }
    case 'down':
      return end(node, 'unavailable', event.reason, 'rehab', [vote('down'), rehabbed]);
    case 'restarted':
      return end(node, 'unavailable', event.how, 'rehab', [vote('down'), rehabbed]);
    case 'heartbeat':
      return heardWithoutVote(node, event.report, context);
    case 'vote_expired':
      if (node.waits !== null) return stay(node);
      // Stays new: a late vote counts as long as the job runs (N9).
      return { node, effects: [vote('voting_timeout')] };
    case 'ack_timeout':
      return end(node, 'unavailable', `no answer within ${event.seconds} s`, 'rehab', [vote('voting_timeout')]);
    case 'abort':
    case 'close': {
      const ending = event.ending;
      const silent = node.waits === 'turn' ? `${node.reason ?? 'waits'} until the job ended` : 'no answer to prepare';
      const reason = ending === 'aborted' ? 'job aborted before the node voted' : silent;
      return end(node, 'unavailable', reason, 'rehab', []);
    }
    case 'misbehaved':
      return end(node, 'unavailable', event.reason, 'rehab', [rehabbed]);
    case 'started':
    case 'finished':
    case 'aborted':
    case 'error':
    case 'agent_crashed':
      return end(node, 'unavailable', `sent ${event.type} when asked to prepare`, 'rehab', [rehabbed]);
    case 'not_started':
      // One that is waited for would keep the job open.
      return node.waits === null ? stay(node) : end(node, 'unavailable', event.reason, 'rehab', []);
    case 'start':
    case 'node_timeout':
      return stay(node);
  }
}

/**
 * The offer or its answer may be lost, with the server or on the way. Where repeats are answered it is asked again;
 * elsewhere a repeat may be refused (sheet §6.4), so it must say the same twice in a row, when no message can be
 * crossing its heartbeat any more.
 */
function heardWithoutVote(
  node: JobNode,
  report: Report,
  { repeatable }: Pick<JobNodeContext, 'repeatable'>,
): JobNodeStep {
  if (report !== 'absent' && report !== 'waiting') return stay(node);
  if (repeatable) return { node, effects: [{ type: 'send', message: 'prepare' }] };
  const contradictions = node.contradictions + 1;
  if (contradictions < CONTRADICTIONS_UNTIL_SURE) return stay({ ...node, contradictions });
  return report === 'waiting'
    ? committed(node)
    : { node: agreeing(node), effects: [{ type: 'send', message: 'prepare' }] };
}

function committed(node: JobNode): JobNodeStep {
  return { node: { ...node, status: 'ready', waits: null, contradictions: 0 }, effects: [vote('success')] };
}

/** Has committed; start not sent. */
function stepReady(node: JobNode, event: JobNodeEvent, context: JobNodeContext): JobNodeStep {
  const voting = context.phase === 'voting';
  switch (event.type) {
    case 'ack':
      if (context.repeatable) return stay(agreeing(node));
      return voting ? { node, effects: [vote('unexpected_commit')] } : crash(node, 'committed twice');
    case 'start':
      return { node: { ...node, starting: true }, effects: [{ type: 'send', message: 'start' }] };
    case 'heartbeat':
      // It forgot the offer although it did not restart; asking again is harmless where repeats are answered.
      if (event.report !== 'absent') return stay(agreeing(node));
      return context.repeatable ? { node, effects: [{ type: 'send', message: 'prepare' }] } : stay(node);
    case 'nack':
      return voting
        ? end(node, 'unavailable', event.reason, 'rehab', [rehabbed, vote('lost_availibility')])
        : crash(node, `refused after committing: ${event.reason}`);
    case 'down':
      return voting
        ? end(node, 'unavailable', event.reason, 'rehab', [vote('down'), rehabbed])
        : crash(node, 'down before it was started');
    case 'restarted':
      return voting
        ? end(node, 'unavailable', event.how, 'rehab', [vote('down'), rehabbed])
        : crash(node, `${event.how} before it was started`);
    case 'misbehaved':
      return voting ? end(node, 'unavailable', event.reason, 'rehab', [rehabbed]) : crash(node, event.reason);
    case 'started':
    case 'finished':
    case 'aborted':
    case 'agent_crashed':
      return voting
        ? end(node, 'unavailable', `sent ${event.type} before start`, 'rehab', [rehabbed])
        : crash(node, `sent ${event.type} before start`);
    case 'error':
      return voting
        ? end(node, 'unavailable', event.reason, 'rehab', [rehabbed])
        : end(node, 'failed', event.reason, 'rehab', [rehabbed, runEnd('run_nacked')]);
    case 'not_started':
      return end(node, 'was_ready', event.reason, 'rehab', []);
    case 'abort':
    case 'close':
      return end(node, event.ending === 'timed_out' ? 'timed_out' : 'was_ready', notStarted(event.ending), 'rehab', []);
    case 'denied':
    case 'unclaimed':
    case 'queued':
    case 'claimed':
    case 'wait_over':
    case 'vote_expired':
    case 'ack_timeout':
    case 'node_timeout':
      return stay(node);
  }
}

function notStarted(ending: FinalPushJobStatus): string {
  switch (ending) {
    case 'quorum_failed':
      return 'not started: the quorum failed';
    case 'timed_out':
      return 'not started before the job timed out';
    case 'aborted':
      return 'not started: the job was aborted';
    case 'complete':
    case 'crashed':
      return 'not started';
  }
}

// ---------------------------------------------------------------- from the start on

/** A job-node from its start to its end (§5.3.4-5.3.7). */

/** Start was sent, not yet confirmed. */
function stepStarting(node: JobNode, event: JobNodeEvent, context: JobNodeContext): JobNodeStep {
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
      if (event.report === 'absent') {
        return context.repeatable ? offerAgain(node) : contradict(node, 'forgot the job before it started');
      }
      // A dialect that cannot repeat: its confirmation is lost, or the start is.
      return event.report === 'running' ? begun(node, context.now) : stillWaiting(node, event.report);
    case 'error':
      if (context.phase === 'aborting')
        return end(node, stoppedStatus(context.ending, false), event.reason, 'rehab', []);
      if (context.repeatable && event.reason === NOT_WAITING) return offerAgain(node);
      return end(node, 'failed', event.reason, 'rehab', [rehabbed, runEnd('run_nacked')]);
    case 'aborted':
      return context.phase === 'aborting'
        ? stopped(node, event.settled, context.ending, event.from === 'running' || event.from === 'terminating')
        : crash(node, 'aborted by itself');
    case 'ack':
      if (!context.repeatable) return crash(node, 'committed twice');
      // It waits, perhaps since it was offered again: the start is due.
      return context.phase === 'aborting' ? stay(node) : { node, effects: [{ type: 'send', message: 'start' }] };
    default:
      return stepStarted(node, event);
  }
}

/**
 * It has neither the offer nor the command: agents discard what has not begun when their server is silent for too long (Push Jobs §4.3), and
 * the start reached it after that, or never. As it cannot have begun the command, it is offered it again; one that did begin it refuses.
 */
function offerAgain(node: JobNode): JobNodeStep {
  return { node, effects: [{ type: 'send', message: 'prepare' }] };
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
function stepRunning(node: JobNode, event: JobNodeEvent, context: JobNodeContext): JobNodeStep {
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
function heardWhileAborting(node: JobNode, report: Report, ending: FinalPushJobStatus | null): JobNodeStep {
  const contradictions = report === 'waiting' || report === 'running' ? 0 : node.contradictions + 1;
  if (contradictions < CONTRADICTIONS_UNTIL_SURE) {
    const heard = contradictions === 0 ? agreeing(node) : { ...node, contradictions };
    return { node: heard, effects: [{ type: 'send', message: 'abort' }] };
  }
  return stopped(node, false, ending, node.status === 'running' || report === 'ended');
}

/** Acknowledged the abort. Not settled: the command is still being killed, rehab waits for that. */
function stopped(node: JobNode, settled: boolean, ending: FinalPushJobStatus | null, ran: boolean): JobNodeStep {
  const reason = ran ? 'aborted while executing' : 'not started';
  const announcements = ran && ending === 'aborted' ? [runEnd('aborted')] : [];
  return end(node, stoppedStatus(ending, ran), reason, settled ? 'idle' : 'rehab', announcements);
}

function stoppedStatus(ending: FinalPushJobStatus | null, ran: boolean): PushJobNodeStatus {
  if (ending === 'timed_out' || ending === 'crashed') return ending;
  return ran ? 'aborted' : 'was_ready';
}

// ---------------------------------------------------------------- what the states have in common

/** The steps that the states of a job-node have in common. */

/** Heartbeats that must contradict in a row: one may have crossed a message on its way. */
const CONTRADICTIONS_UNTIL_SURE = 2;

function contradict(node: JobNode, reason: string): JobNodeStep {
  const contradictions = node.contradictions + 1;
  if (contradictions >= CONTRADICTIONS_UNTIL_SURE) return crash(node, reason);
  return stay({ ...node, contradictions });
}

/** The same object when nothing changes: every other one is stored, and heartbeats are not. */
function agreeing(node: JobNode): JobNode {
  return node.contradictions === 0 ? node : { ...node, contradictions: 0 };
}

/** §5.5.3: a node that does something wrong is failed and goes to rehab; nobody tries to fix it. */
function crash(node: JobNode, reason: string): JobNodeStep {
  return end(node, 'crashed', reason, 'rehab', [rehabbed, runEnd('crashed')]);
}

function end(
  node: JobNode,
  status: PushJobNodeStatus,
  reason: string | null,
  to: 'idle' | 'rehab',
  announcements: readonly JobNodeEffect[],
): JobNodeStep {
  return {
    node: { ...node, status, starting: false, waits: null, reason },
    effects: [...announcements, { type: 'release', to }],
  };
}

const rehabbed: JobNodeEffect = { type: 'announce', name: 'rehab' };

function vote(status: Vote): JobNodeEffect {
  return { type: 'announce', name: 'quorum_vote', status };
}

function runEnd(status: RunEnd): JobNodeEffect {
  return { type: 'announce', name: 'run_complete', status };
}

function stay(node: JobNode): JobNodeStep {
  return { node, effects: [] };
}
