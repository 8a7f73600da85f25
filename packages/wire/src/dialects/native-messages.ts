import type { JsonObject } from '../fields.js';
import * as read from '../fields.js';
import { LIMITS } from '../limits.js';
import type {
  AgentMessage,
  AgentState,
  CommandOptions,
  CommandResult,
  Facts,
  FactValue,
  NodeCommands,
  ServerMessage,
} from '../messages/index.js';
import { readNativeOptions } from './native-options.js';
import { readOrder, readReport, writeOrder, writeReport } from './native-tasks.js';
import { Dropped } from './types.js';

/** The native bodies: the internal vocabulary in snake_case, bytes as base64. */

export const AGENT_STATES: readonly AgentState[] = ['ready', 'waiting', 'running', 'terminating'];
const OUTCOMES = ['succeeded', 'failed', 'timed_out'] as const;
const STREAMS = ['stdout', 'stderr'] as const;
const STARTS = ['clean', 'crash', 'first'] as const;

export function writeServer(message: ServerMessage): JsonObject {
  switch (message.type) {
    case 'prepare':
      return {
        type: message.type,
        job_id: message.jobId,
        command: message.command,
        capture: message.capture,
        options: message.options,
        timeout_seconds: message.timeoutSeconds,
        wait_seconds: message.waitSeconds,
      };
    case 'start':
      return { type: message.type, job_id: message.jobId };
    case 'output_stored':
      return { type: message.type, job_id: message.jobId, stream: message.stream, offset: message.offset };
    case 'abort':
    case 'welcome':
    case 'reconfigure':
      return { type: message.type };
    case 'system_open':
      return { type: message.type, session: message.session, system: message.system, root: message.root };
    default:
      return writeOrder(message);
  }
}

export function readServer(body: JsonObject): ServerMessage {
  switch (body.type) {
    case 'prepare': {
      const timeoutSeconds = read.nullable(body, 'timeout_seconds', read.seconds);
      const waitSeconds = read.nullable(body, 'wait_seconds', read.seconds);
      return {
        type: 'prepare',
        jobId: read.jobId(body, 'job_id'),
        command: read.text(body, 'command', LIMITS.serverBodyBytes),
        capture: read.flag(body, 'capture'),
        options: readOptions(read.object(body, 'options')),
        ...(timeoutSeconds === null ? {} : { timeoutSeconds }),
        ...(waitSeconds === null ? {} : { waitSeconds }),
      };
    }
    case 'start':
      return { type: 'start', jobId: read.jobId(body, 'job_id') };
    case 'output_stored':
      return {
        type: 'output_stored',
        jobId: read.jobId(body, 'job_id'),
        stream: read.oneOf(body, 'stream', STREAMS),
        offset: read.count(body, 'offset'),
      };
    case 'abort':
    case 'welcome':
    case 'reconfigure':
      return { type: body.type };
    case 'system_open':
      return {
        type: 'system_open',
        session: read.sessionId(body, 'session'),
        system: read.name(body, 'system'),
        root: read.name(body, 'root', LIMITS.pathBytes),
      };
    default:
      return readOrder(body) ?? unknownType();
  }
}

/** `user`, `dir`, `env`, `file` and those that only this dialect has, each absent or a value; null counts as absent. */
export function readOptions(from: JsonObject): CommandOptions {
  const some = (field: string): string | null =>
    read.nullable(from, field, () => read.text(from, field, LIMITS.serverBodyBytes));
  const user = some('user');
  const dir = some('dir');
  const file = some('file');
  const env = read.nullable(from, 'env', readEnv);
  return {
    ...(user === null ? {} : { user }),
    ...(dir === null ? {} : { dir }),
    ...(env === null ? {} : { env }),
    ...(file === null ? {} : { file }),
    ...readNativeOptions(from),
  };
}

function readEnv(from: JsonObject, field: string): Record<string, string> {
  const env = read.object(from, field);
  const names = Object.keys(env);
  if (names.length > LIMITS.envEntries) throw new Dropped('parse_fail');
  return Object.fromEntries(names.map((name) => [name, read.text(env, name, LIMITS.serverBodyBytes)]));
}

export function writeAgent(message: AgentMessage): JsonObject {
  switch (message.type) {
    case 'heartbeat':
      return {
        type: message.type,
        state: message.state,
        job_id: message.jobId,
        last: message.last === null ? null : writeResult(message.last),
      };
    case 'ready':
      return { type: message.type, start: message.start };
    case 'ack':
    case 'started':
    case 'crashed':
      return { type: message.type, job_id: message.jobId };
    case 'nack':
      return {
        type: message.type,
        job_id: message.jobId,
        reason: read.truncate(message.reason, LIMITS.reasonBytes),
        current_job_id: message.currentJobId,
      };
    case 'finished':
      return {
        type: message.type,
        ...writeResult(message),
        output: message.output && {
          stdout: Buffer.from(message.output.stdout).toString('base64'),
          stderr: Buffer.from(message.output.stderr).toString('base64'),
        },
        bytes: message.bytes,
      };
    case 'aborted':
      return { type: message.type, job_id: message.jobId, from: message.from, settled: message.settled };
    case 'error':
      return {
        type: message.type,
        job_id: message.jobId,
        reason: read.truncate(message.reason, LIMITS.reasonBytes),
      };
    case 'output':
      return {
        type: message.type,
        job_id: message.jobId,
        stream: message.stream,
        offset: message.offset,
        data: Buffer.from(message.data).toString('base64'),
      };
    case 'stopping':
      return { type: message.type };
    case 'facts':
      return { type: message.type, facts: message.facts, labels: message.labels };
    case 'commands':
      return { type: message.type, commands: message.commands };
    default:
      return writeReport(message);
  }
}

export function readAgent(body: JsonObject): AgentMessage {
  const jobId = (): string | null => read.nullable(body, 'job_id', read.jobId);
  switch (body.type) {
    case 'heartbeat':
      return {
        type: 'heartbeat',
        state: read.oneOf(body, 'state', AGENT_STATES),
        jobId: jobId(),
        last: read.nullable(body, 'last', (from, field) => readResult(read.object(from, field))),
      };
    case 'ready':
      return {
        type: 'ready',
        start: read.nullable(body, 'start', (from, field) => read.oneOf(from, field, STARTS)),
      };
    case 'ack':
    case 'started':
    case 'crashed':
      return { type: body.type, jobId: jobId() };
    case 'nack':
      return {
        type: 'nack',
        jobId: jobId(),
        reason: read.reason(body, 'reason'),
        currentJobId: read.nullable(body, 'current_job_id', read.jobId),
      };
    case 'finished':
      return {
        type: 'finished',
        ...readResult(body),
        output: read.nullable(body, 'output', readOutput),
        bytes: read.nullable(body, 'bytes', readTotals),
      };
    case 'aborted':
      return {
        type: 'aborted',
        jobId: jobId(),
        from: read.oneOf(body, 'from', AGENT_STATES),
        settled: read.flag(body, 'settled'),
      };
    case 'error':
      return { type: 'error', jobId: jobId(), reason: read.reason(body, 'reason') };
    case 'output':
      return {
        type: 'output',
        jobId: read.jobId(body, 'job_id'),
        stream: read.oneOf(body, 'stream', STREAMS),
        offset: read.count(body, 'offset'),
        data: read.base64(body, 'data', LIMITS.outputChunkBytes),
      };
    case 'stopping':
      return { type: 'stopping' };
    case 'facts':
      return { type: 'facts', facts: readFacts(body, 'facts'), labels: readFacts(body, 'labels') };
    case 'commands':
      return { type: 'commands', commands: read.nullable(body, 'commands', readCommands) };
    default:
      return readReport(body) ?? unknownType();
  }
}

function unknownType(): never {
  throw new Dropped('unknown_type');
}

function writeResult(result: CommandResult): JsonObject {
  return {
    job_id: result.jobId,
    outcome: result.outcome,
    exit_code: result.exitCode,
    signal: result.signal,
    reason: result.reason === null ? null : read.truncate(result.reason, LIMITS.reasonBytes),
  };
}

function readResult(from: JsonObject): CommandResult {
  return {
    jobId: read.jobId(from, 'job_id'),
    outcome: read.oneOf(from, 'outcome', OUTCOMES),
    exitCode: read.nullable(from, 'exit_code', read.count),
    signal: read.nullable(from, 'signal', read.name),
    reason: read.nullable(from, 'reason', read.reason),
  };
}

function readOutput(from: JsonObject, field: string): { stdout: Uint8Array; stderr: Uint8Array } {
  const output = read.object(from, field);
  return {
    stdout: read.base64(output, 'stdout', LIMITS.bodyBytes),
    stderr: read.base64(output, 'stderr', LIMITS.bodyBytes),
  };
}

function readTotals(from: JsonObject, field: string): { stdout: number; stderr: number } {
  const totals = read.object(from, field);
  return { stdout: read.count(totals, 'stdout'), stderr: read.count(totals, 'stderr') };
}

const SCRIPTS = ['any', 'signed', 'none'] as const;

function readCommands(from: JsonObject, field: string): NodeCommands {
  const told = read.object(from, field);
  const { list } = told;
  if (!Array.isArray(list) || list.length > LIMITS.commands) throw new Dropped('parse_fail');
  return {
    list: list.map((entry) => {
      if (!read.isObject(entry)) throw new Dropped('parse_fail');
      const pattern = (one: JsonObject, name: string) => read.name(one, name, LIMITS.commandNameBytes);
      return { name: pattern(entry, 'name'), pattern: read.nullable(entry, 'pattern', pattern) };
    }),
    omitted: read.count(told, 'omitted'),
    any: read.flag(told, 'any'),
    scripts: read.oneOf(told, 'scripts', SCRIPTS),
    uploads: read.flag(told, 'uploads'),
    fetches: read.flag(told, 'fetches'),
  };
}

function readFacts(from: JsonObject, field: string): Facts {
  const entries = Object.entries(read.object(from, field));
  if (entries.length > LIMITS.facts) throw new Dropped('parse_fail');
  return Object.fromEntries(entries.map(([name, value]) => [factName(name), factValue(value)]));
}

function factName(name: string): string {
  if (name === '' || Buffer.byteLength(name) > LIMITS.nameBytes) throw new Dropped('parse_fail');
  return name;
}

function factValue(value: unknown): FactValue {
  // JSON has no infinity, but 1e999 reads as one, and neither database nor JSON could give it back.
  if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return value;
  if (typeof value === 'string' && Buffer.byteLength(value) <= LIMITS.factBytes) return value;
  throw new Dropped('parse_fail');
}
