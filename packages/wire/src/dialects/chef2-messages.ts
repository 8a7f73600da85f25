import type { JsonObject } from '../fields.js';
import * as read from '../fields.js';
import { LIMITS } from '../limits.js';
import type { AgentMessage, AgentState, Outcome, ServerMessage } from '../messages/index.js';
import { readOptions } from './native-messages.js';
import { Dropped } from './types.js';

/** The deployed protocol 2.0 to and from the internal vocabulary (sheet §4.1-4.5). */

/**
 * Stands for a job id that is absent or malformed: it behaves like a job nobody knows (sheet §4.1).
 * No job has it, because no job id is empty.
 */
const INVALID_JOB_ID = '';

const STATES: Readonly<Record<'idle' | 'committed' | 'running', AgentState>> = {
  idle: 'ready',
  committed: 'waiting',
  running: 'running',
};

/** Null: the dialect has no such message. Optional fields are left out, never null (sheet §4.2). */
export function writeServer(message: ServerMessage, server: string): JsonObject | null {
  switch (message.type) {
    case 'prepare':
      return {
        type: 'commit',
        job_id: message.jobId,
        server,
        command: message.command,
        capture: message.capture,
        ...message.options,
      };
    case 'start':
      return { type: 'run', job_id: message.jobId };
    case 'abort':
      return { type: 'abort' };
    case 'welcome':
      return { type: 'ack' };
    case 'output_stored':
    case 'reconfigure':
    case 'task_orders':
    case 'task_output_stored':
    case 'task_census':
    case 'system_open':
      return null;
  }
}

export function readServer(body: JsonObject): ServerMessage {
  switch (body.type) {
    case 'commit':
      return {
        type: 'prepare',
        jobId: read.jobId(body, 'job_id'),
        command: read.text(body, 'command', LIMITS.serverBodyBytes),
        capture: read.flag(body, 'capture'),
        options: readOptions(body),
      };
    case 'run':
      return { type: 'start', jobId: read.jobId(body, 'job_id') };
    case 'abort':
      return { type: 'abort' };
    case 'ack':
      return { type: 'welcome' };
    default:
      throw new Dropped('unknown_type');
  }
}

export function writeAgent(message: AgentMessage): JsonObject | null {
  switch (message.type) {
    case 'heartbeat':
      return { type: 'heartbeat', job_state: jobState(message.state), job_id: message.jobId };
    case 'ack':
      return { type: 'ack_commit', job_id: message.jobId };
    case 'nack':
      return { type: 'nack_commit', job_id: message.jobId };
    case 'started':
      return { type: 'ack_run', job_id: message.jobId };
    case 'error':
      return { type: 'nack_run', job_id: message.jobId };
    case 'finished':
      return {
        type: message.outcome === 'succeeded' ? 'succeeded' : 'failed',
        job_id: message.jobId,
        ...(message.output && {
          stdout: Buffer.from(message.output.stdout).toString('utf8'),
          stderr: Buffer.from(message.output.stderr).toString('utf8'),
        }),
      };
    case 'aborted':
      return { type: 'aborted', job_id: message.jobId };
    case 'ready':
    case 'crashed':
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

function jobState(state: AgentState): keyof typeof STATES {
  switch (state) {
    case 'ready':
      return 'idle';
    case 'waiting':
      return 'committed';
    case 'running':
    case 'terminating':
      return 'running';
  }
}

export function readAgent(body: JsonObject): AgentMessage {
  const jobId = readJobId(body.job_id);
  switch (body.type) {
    case 'heartbeat':
      return {
        type: 'heartbeat',
        state: STATES[read.oneOf(body, 'job_state', ['idle', 'committed', 'running'])],
        jobId,
        last: null,
      };
    case 'ack_commit':
      return { type: 'ack', jobId };
    case 'nack_commit':
      return { type: 'nack', jobId, reason: 'refused by the node', currentJobId: null };
    case 'ack_run':
      return { type: 'started', jobId };
    case 'nack_run':
      return { type: 'error', jobId, reason: 'the node cannot start the job' };
    case 'succeeded':
      return finished('succeeded', jobId, body);
    case 'failed':
      return finished('failed', jobId, body);
    case 'aborted':
      // It stops waiting for the process and is idle at once (sheet §6.4).
      return { type: 'aborted', jobId, from: jobId === null ? 'ready' : 'running', settled: true };
    default:
      throw new Dropped('unknown_type');
  }
}

function finished(outcome: Outcome, jobId: string | null, body: JsonObject): AgentMessage {
  const stdout = captured(body.stdout);
  const stderr = captured(body.stderr);
  const output = stdout === null || stderr === null ? null : { stdout, stderr };
  return {
    type: 'finished',
    jobId: jobId ?? INVALID_JOB_ID,
    outcome,
    exitCode: outcome === 'succeeded' ? 0 : null,
    signal: null,
    reason: null,
    output,
    bytes: output && { stdout: output.stdout.length, stderr: output.stderr.length },
  };
}

/** A body limit configured larger than the default allows more output, so no limit of its own here. */
function captured(value: unknown): Uint8Array | null {
  return typeof value === 'string' ? Buffer.from(value) : null;
}

/** Null and the text `null` mean no job; anything else that is not a short string is invalid (sheet §4.1). */
function readJobId(value: unknown): string | null {
  if (value === null || value === 'null') return null;
  return typeof value === 'string' && Buffer.byteLength(value) <= LIMITS.jobIdBytes ? value : INVALID_JOB_ID;
}
