import type { JsonObject } from '../fields.js';
import * as read from '../fields.js';
import { LIMITS } from '../limits.js';
import type { AgentMessage, AgentState, Outcome, ServerMessage } from '../messages/index.js';
import { AGENT_STATES } from './native-messages.js';
import { Dropped } from './types.js';

/** The messages of Push Jobs §7.3 and §7.4. Where the spec names no field, the one here is optional when read. */

/** Null: the spec has no such message. */
export function writeServer(message: ServerMessage, server: string): JsonObject | null {
  switch (message.type) {
    case 'prepare':
      // The spec's prepare has no options. A command that was to run as another user or elsewhere must not run
      // without them, so such a job is not offered.
      if (Object.keys(message.options).length > 0) return null;
      return { server, job_id: message.jobId, type: 'prepare', command: message.command };
    case 'start':
      return { server, job_id: message.jobId, type: 'start' };
    case 'abort':
    // §3.2: "or got a reconfigure command via the command channel".
    case 'reconfigure':
      return { server, type: message.type };
    case 'welcome':
    case 'output_stored':
    case 'task_orders':
    case 'task_output_stored':
    case 'task_census':
    case 'system_open':
      return null;
  }
}

export function readServer(body: JsonObject): ServerMessage {
  switch (body.type) {
    case 'prepare':
      return {
        type: 'prepare',
        jobId: read.jobId(body, 'job_id'),
        command: read.text(body, 'command', LIMITS.serverBodyBytes),
        capture: false,
        options: {},
      };
    case 'start':
      return { type: 'start', jobId: read.jobId(body, 'job_id') };
    case 'abort':
    case 'reconfigure':
      return { type: body.type };
    default:
      throw new Dropped('unknown_type');
  }
}

/** §7.4: OK, FAILED, ABORTED; running out of time is a failure with a reason. */
type FinishedState = 'OK' | 'FAILED' | 'ABORTED';

export function writeAgent(message: AgentMessage): JsonObject | null {
  switch (message.type) {
    case 'heartbeat':
      return { type: 'heartbeat', state: message.state === 'ready' ? 'idle' : message.state, job_id: message.jobId };
    case 'ready':
      return { type: 'ready' };
    case 'ack':
    case 'started':
      return { type: message.type, job_id: message.jobId };
    case 'nack':
      return {
        type: 'nack',
        job_id: message.jobId,
        reason: read.truncate(message.reason, LIMITS.reasonBytes),
        currently_executing: message.currentJobId,
      };
    case 'finished': {
      const reason = message.outcome === 'timed_out' ? 'timed out' : message.reason;
      return { type: 'finished', job_id: message.jobId, state: finishedState(message.outcome), reason };
    }
    case 'aborted':
      return { type: 'aborted', job_id: message.jobId, from: message.from };
    case 'error':
      return {
        type: 'error',
        job_id: message.jobId,
        reason: read.truncate(message.reason, LIMITS.reasonBytes),
      };
    // §5.7 Startup: "Send job failed msg".
    case 'crashed':
      return { type: 'finished', job_id: message.jobId, state: 'FAILED', reason: 'the agent crashed' };
    case 'output':
    case 'stopping':
    case 'facts':
    case 'commands':
    case 'task_slots':
    case 'task_news':
    case 'task_inventory':
    case 'task_output':
      return null;
  }
}

function finishedState(outcome: Outcome): FinishedState {
  switch (outcome) {
    case 'succeeded':
      return 'OK';
    case 'failed':
    case 'timed_out':
      return 'FAILED';
  }
}

export function readAgent(body: JsonObject): AgentMessage {
  const jobId = (): string | null => read.nullable(body, 'job_id', read.jobId);
  const reason = (): string | null => read.nullable(body, 'reason', read.reason);
  switch (body.type) {
    // §7.3 shows the heartbeat without a type.
    case undefined:
    case 'heartbeat':
      return { type: 'heartbeat', state: readState(body.state), jobId: jobId(), last: null };
    case 'ready':
      return { type: 'ready', start: null };
    case 'ack':
    case 'started':
      return { type: body.type, jobId: jobId() };
    case 'nack':
      return {
        type: 'nack',
        jobId: jobId(),
        reason: reason() ?? 'refused by the node',
        currentJobId: read.nullable(body, 'currently_executing', read.jobId),
      };
    case 'finished':
      return readFinished(body, reason());
    case 'aborted': {
      const fallback: AgentState = jobId() === null ? 'ready' : 'running';
      const from = read.nullable(body, 'from', (_, field) => readState(body[field])) ?? fallback;
      return { type: 'aborted', jobId: jobId(), from, settled: from !== 'terminating' };
    }
    case 'error':
      return { type: 'error', jobId: jobId(), reason: reason() ?? 'the node cannot start the job' };
    default:
      throw new Dropped('unknown_type');
  }
}

function readFinished(body: JsonObject, reason: string | null): AgentMessage {
  const jobId = read.jobId(body, 'job_id');
  const state = read.oneOf<FinishedState>(body, 'state', ['OK', 'FAILED', 'ABORTED']);
  if (state === 'ABORTED') return { type: 'aborted', jobId, from: 'running', settled: true };
  return {
    type: 'finished',
    jobId,
    outcome: state === 'OK' ? 'succeeded' : 'failed',
    exitCode: state === 'OK' ? 0 : null,
    signal: null,
    reason,
    output: null,
    bytes: null,
  };
}

/** `idle` in §7.3's sample, the state names of §5.7 otherwise. */
function readState(value: unknown): AgentState {
  if (value === 'idle') return 'ready';
  const state = AGENT_STATES.find((candidate) => candidate === value);
  if (state === undefined) throw new Dropped('parse_fail');
  return state;
}
