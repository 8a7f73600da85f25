import type { JobNode, JobNodeContext, JobNodeEvent, JobNodeStep, Report } from './job-node.js';
import { agreeing, CONTRADICTIONS_UNTIL_SURE, crash, end, rehabbed, runEnd, stay, vote } from './job-node-steps.js';
import type { FinalJobStatus } from './types.js';

/** A job-node until its start: it is asked for its vote, and waits once it has committed (§5.3.3, sheet §6.2). */

/** Asked, has not voted. */
export function stepUnvoted(node: JobNode, event: JobNodeEvent, context: JobNodeContext): JobNodeStep {
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
    case 'down':
      return end(node, 'unavailable', 'down', 'rehab', [vote('down'), rehabbed]);
    case 'restarted':
      return end(node, 'unavailable', event.how, 'rehab', [vote('down'), rehabbed]);
    case 'heartbeat':
      return heardWithoutVote(node, event.report, context);
    case 'vote_expired':
      // Stays new: a late vote counts as long as the job runs (N9).
      return { node, effects: [vote('voting_timeout')] };
    case 'ack_timeout':
      return end(node, 'unavailable', `no answer within ${event.seconds} s`, 'rehab', [vote('voting_timeout')]);
    case 'abort':
    case 'close': {
      const ending = event.ending;
      const reason = ending === 'aborted' ? 'job aborted before the node voted' : 'no answer to prepare';
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
    case 'start':
    case 'node_timeout':
    case 'not_started':
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
  return { node: { ...node, status: 'ready', contradictions: 0 }, effects: [vote('success')] };
}

/** Has committed; start not sent. */
export function stepReady(node: JobNode, event: JobNodeEvent, context: JobNodeContext): JobNodeStep {
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
        ? end(node, 'unavailable', 'down', 'rehab', [vote('down'), rehabbed])
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
    case 'vote_expired':
    case 'ack_timeout':
    case 'node_timeout':
      return stay(node);
  }
}

function notStarted(ending: FinalJobStatus): string {
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
