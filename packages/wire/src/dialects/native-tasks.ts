import type { JsonObject } from '../fields.js';
import * as read from '../fields.js';
import { LIMITS } from '../limits.js';
import type {
  AssignedTask,
  HeldState,
  OfferedPlugin,
  PluginContract,
  Stream,
  TaskNews,
  TaskOrder,
  TaskRef,
  TaskReport,
  TaskResult,
} from '../messages/index.js';
import { Dropped } from './types.js';

/**
 * The native bodies of messages about tasks. There are many of them: what is null or empty is left out. Objects of each task are
 * written field by field: one that begins as a copy grows with every further field, and takes several times the memory.
 */

const STREAMS: readonly Stream[] = ['stdout', 'stderr'];
const CONTRACTS: readonly PluginContract[] = ['default', 'nomongo', 'simple', 'module', 'perl'];
const HELD: readonly HeldState[] = ['waiting', 'running', 'ended'];

export function writeOrder(message: TaskOrder): JsonObject {
  switch (message.type) {
    case 'task_orders':
      return {
        type: message.type,
        ...(message.assign.length > 0 && { assign: message.assign.map(writeAssigned) }),
        ...(message.settled.length > 0 && { settled: message.settled.map(writeRef) }),
        ...(message.cancel.length > 0 && { cancel: message.cancel.map(writeRef) }),
        ...(message.recall.length > 0 && { recall: message.recall.map(writeRef) }),
      };
    case 'task_output_stored':
      return { type: message.type, task: writeRef(message), stream: message.stream, offset: message.offset };
    case 'task_census':
      return { type: message.type };
  }
}

/** Null: it is none of these. */
export function readOrder(body: JsonObject): TaskOrder | null {
  switch (body.type) {
    case 'task_orders':
      return {
        type: 'task_orders',
        assign: list(body, 'assign', LIMITS.tasksAtOnce, readAssigned),
        settled: list(body, 'settled', LIMITS.tasksAtOnce, readRef),
        cancel: list(body, 'cancel', LIMITS.tasksAtOnce, readRef),
        recall: list(body, 'recall', LIMITS.tasksAtOnce, readRef),
      };
    case 'task_output_stored':
      return {
        type: 'task_output_stored',
        ...readRef(body.task),
        stream: read.oneOf(body, 'stream', STREAMS),
        offset: read.count(body, 'offset'),
      };
    case 'task_census':
      return { type: 'task_census' };
    default:
      return null;
  }
}

export function writeReport(message: TaskReport): JsonObject {
  switch (message.type) {
    case 'task_slots':
      return {
        type: message.type,
        max: message.max,
        plugins: message.plugins,
        activequeues: message.activequeues,
        ignorequeues: message.ignorequeues,
      };
    case 'task_news':
      return { type: message.type, news: message.news.map(writeNews) };
    case 'task_inventory':
      return { type: message.type, held: message.held.map(({ id, attempt, state }) => [id, attempt, state]) };
    case 'task_output':
      return {
        type: message.type,
        task: writeRef(message),
        stream: message.stream,
        offset: message.offset,
        data: Buffer.from(message.data).toString('base64'),
      };
  }
}

/** Null: it is none of these. */
export function readReport(body: JsonObject): TaskReport | null {
  switch (body.type) {
    case 'task_slots':
      return {
        type: 'task_slots',
        max: read.count(body, 'max'),
        plugins: list(body, 'plugins', LIMITS.plugins, readPlugin),
        activequeues: list(body, 'activequeues', LIMITS.queuesNamed, readName),
        ignorequeues: list(body, 'ignorequeues', LIMITS.queuesNamed, readName),
      };
    case 'task_news':
      return { type: 'task_news', news: list(body, 'news', LIMITS.tasksAtOnce, readNews) };
    case 'task_inventory':
      return { type: 'task_inventory', held: list(body, 'held', LIMITS.tasksHeld, readHeld) };
    case 'task_output':
      return {
        type: 'task_output',
        ...readRef(body.task),
        stream: read.oneOf(body, 'stream', STREAMS),
        offset: read.count(body, 'offset'),
        data: read.base64(body, 'data', LIMITS.outputChunkBytes),
      };
    default:
      return null;
  }
}

/** Absent is empty. */
function list<T>(from: JsonObject, field: string, most: number, item: (value: unknown) => T): T[] {
  const values = from[field];
  if (values === undefined) return [];
  if (!Array.isArray(values) || values.length > most) throw new Dropped('parse_fail');
  return values.map(item);
}

function fields(value: unknown): JsonObject {
  if (!read.isObject(value)) throw new Dropped('parse_fail');
  return value;
}

function readName(value: unknown): string {
  return read.name({ value }, 'value');
}

function writeRef({ id, attempt }: TaskRef): readonly [string, number] {
  return [id, attempt];
}

function readRef(value: unknown): TaskRef {
  if (!Array.isArray(value)) throw new Dropped('parse_fail');
  return { id: idOf(value), attempt: attemptOf(value) };
}

function idOf(ref: unknown): string {
  return read.item(ref, 0, LIMITS.taskIdBytes);
}

function attemptOf(ref: unknown): number {
  return read.countItem(ref, 1, 1);
}

function readHeld(value: unknown): TaskRef & { readonly state: HeldState } {
  const { id, attempt } = readRef(value);
  return { id, attempt, state: read.oneOf({ state: (value as unknown[])[2] }, 'state', HELD) };
}

function writeAssigned(task: AssignedTask): JsonObject {
  return {
    task: writeRef(task),
    queue: task.queue.id,
    queue_name: task.queue.name,
    plugin: task.plugin,
    params: task.params,
    ctime: task.ctime,
    mtime: task.mtime,
    // JSON leaves it out.
    timeout: task.timeoutSeconds ?? undefined,
    output_limit: task.outputLimit,
    secrets: task.secrets,
  };
}

function readAssigned(value: unknown): AssignedTask {
  const body = fields(value);
  return {
    id: idOf(body.task),
    attempt: attemptOf(body.task),
    queue: { id: read.name(body, 'queue', LIMITS.taskIdBytes), name: read.name(body, 'queue_name') },
    plugin: read.name(body, 'plugin'),
    params: read.object(body, 'params') as AssignedTask['params'],
    ctime: read.count(body, 'ctime'),
    mtime: read.count(body, 'mtime'),
    timeoutSeconds: read.nullable(body, 'timeout', read.seconds),
    outputLimit: read.count(body, 'output_limit'),
    ...(body.secrets !== undefined && { secrets: list(body, 'secrets', LIMITS.taskSecrets, readName) }),
  };
}

function readPlugin(value: unknown): OfferedPlugin {
  const body = fields(value);
  return {
    name: read.name(body, 'name'),
    contract: read.oneOf(body, 'contract', CONTRACTS),
    concurrency: read.nullable(body, 'concurrency', read.count),
  };
}

function writeNews(news: TaskNews): JsonObject {
  const { event } = news;
  const task = writeRef(news);
  switch (event) {
    case 'started':
      return { task, event };
    case 'progress':
      return { task, event, fraction: news.fraction, text: read.truncate(news.text, LIMITS.reasonBytes) };
    case 'finished':
      return { task, event, result: writeResult(news.result) };
    case 'returned':
    case 'lost':
      return { task, event, reason: read.truncate(news.reason, LIMITS.reasonBytes) };
    case 'cancelled':
      return { task, event, forced: news.forced, bytes: news.bytes, duration_ms: news.durationMs };
  }
}

function readNews(value: unknown): TaskNews {
  const body = fields(value);
  const { task } = body;
  const id = idOf(task);
  const attempt = attemptOf(task);
  switch (body.event) {
    case 'started':
      return { id, attempt, event: 'started' };
    case 'progress':
      return {
        id,
        attempt,
        event: 'progress',
        fraction: Math.min(read.seconds(body, 'fraction'), 1),
        text: read.reason(body, 'text'),
      };
    case 'finished':
      return { id, attempt, event: 'finished', result: readResult(read.object(body, 'result')) };
    case 'returned':
    case 'lost':
      return { id, attempt, event: body.event, reason: read.reason(body, 'reason') };
    case 'cancelled':
      return {
        id,
        attempt,
        event: 'cancelled',
        forced: read.flag(body, 'forced'),
        bytes: read.nullable(body, 'bytes', readBytes),
        durationMs: read.count(body, 'duration_ms'),
      };
    default:
      throw new Dropped('parse_fail');
  }
}

function writeResult(result: TaskResult): JsonObject {
  return {
    status: result.status,
    retry: result.retry || undefined,
    reason: result.reason === null ? undefined : read.truncate(result.reason, LIMITS.reasonBytes),
    exit_code: result.exitCode ?? undefined,
    signal: result.signal ?? undefined,
    stdout: result.stdout ?? undefined,
    stderr: result.stderr ?? undefined,
    bytes: result.bytes ?? undefined,
    duration_ms: result.durationMs,
  };
}

function readOutput(body: JsonObject, field: string): string {
  return read.text(body, field, LIMITS.inlineOutputBytes);
}

function readResult(body: JsonObject): TaskResult {
  return {
    status: read.count(body, 'status', 1),
    retry: read.nullable(body, 'retry', read.flag) ?? false,
    reason: read.nullable(body, 'reason', read.reason),
    exitCode: read.nullable(body, 'exit_code', read.count),
    signal: read.nullable(body, 'signal', read.name),
    stdout: read.nullable(body, 'stdout', readOutput),
    stderr: read.nullable(body, 'stderr', readOutput),
    bytes: read.nullable(body, 'bytes', readBytes),
    durationMs: read.count(body, 'duration_ms'),
  };
}

function readBytes(from: JsonObject, field: string): { stdout: number; stderr: number } {
  const totals = read.object(from, field);
  return { stdout: read.count(totals, 'stdout'), stderr: read.count(totals, 'stderr') };
}
