import { invalid, isFields, Reader, type TextRule } from '../definition/reader.js';
import type { TerminalStatus } from '../status.js';
import type { Job } from '../types.js';

/**
 * Rows of jobs of Aloe (`aloe_jobs`) and of Agave (`jobs`), one with its history (sheet §1.1, §10). Names are taken as columns have
 * them and as answers have them: `remote_queue`, `remoteQueue`, and Agave's `queue_request`.
 */

export interface OldEntry {
  readonly status: string;
  readonly at: number;
  readonly by: string;
  readonly description: string;
}

export interface OldJob {
  readonly job: Job;
  readonly history: readonly OldEntry[];
}

/** Names that Agave had for what Aloe calls otherwise. */
const AGAVE_NAMES: Readonly<Record<string, string>> = {
  id: 'uuid',
  archive_output: 'archive',
  archive_system: 'archive_system_id',
  batch_queue: 'remote_queue',
  end_time: 'ended',
  error_message: 'last_message',
  execution_system: 'system_id',
  failed_status_checks: 'failed_checks',
  last_status_check: 'last_check',
  last_status_message: 'last_message',
  local_job_id: 'remote_job_id',
  max_run_time: 'requested_time',
  memory_per_node: 'memory_gb',
  memory_request: 'memory_gb',
  processor_count: 'processors_per_node',
  processor_on_each_node: 'processors_per_node',
  queue_request: 'remote_queue',
  remote_sched_id: 'scheduler_job_id',
  remote_status_checks: 'status_checks',
  remote_submit_retries: 'submit_retries',
  retries: 'submit_retries',
  scheduler_job_id: 'scheduler_job_id',
  software_name: 'app_id',
  start_time: 'remote_started',
  submit_time: 'remote_submitted',
  system: 'system_id',
};

/** Agave's names of ends that have other names since (sheet §2.1). */
const ENDS: Readonly<Record<string, TerminalStatus>> = {
  FINISHED: 'FINISHED',
  STOPPED: 'STOPPED',
  FAILED: 'FAILED',
  KILLED: 'STOPPED',
  CANCELLED: 'STOPPED',
  ARCHIVING_FINISHED: 'FINISHED',
  ARCHIVING_FAILED: 'FAILED',
};

const UUID: TextRule = { most: 64, pattern: /^[A-Za-z0-9-]+$/, form: 'the uuid of a job, such as …-007' };
const MOST_HISTORY = 1000;
const MOST_VALUES = 16_384;
const SQL_TIME = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d{1,9})?)(Z|[+-]\d\d:?\d\d)?$/i;
const RUN_TIME = /^(\d{1,6}):([0-5]\d):([0-5]\d)$/;

/** @throws MusterError `invalid_field`, which names the field as Aloe calls it */
export function readOldJob(value: unknown, organization: { readonly id: string; readonly name: string }): OldJob {
  if (!isFields(value)) throw invalid('job', 'must be a JSON object');
  const row = new Reader(renamed(value), 'job');
  const text = (name: string, most: number): string => row.text(name, { most });
  const optional = (name: string, most: number): string | null => row.optionalText(name, { most, lines: true });
  const time = (name: string): number | null => timeOf(row.path(name), row.value(name));
  const uuid = row.text('uuid', UUID);
  const said = text('status', 32);
  const status = Object.hasOwn(ENDS, said) ? ENDS[said] : undefined;
  if (status === undefined) throw invalid('job.status', `is ${said}: only jobs that have ended are taken over`);
  const owner = text('owner', 64);
  const accepted = time('accepted') ?? time('created') ?? time('remote_submitted');
  if (accepted === null) throw invalid('job.created', 'it is missing');
  const lastUpdated = time('last_updated') ?? time('ended') ?? accepted;
  const outcome = optional('remote_outcome', 32);
  const job: Job = {
    uuid,
    orgId: organization.id,
    tenant: organization.name,
    name: text('name', 255),
    owner,
    roles: optional('roles', 4096),
    queue: optional('tenant_queue', 255) ?? '',
    appId: text('app_id', 128),
    appUuid: optional('app_uuid', 64) ?? '',
    systemId: optional('system_id', 128) ?? '',
    archive: flag(row, 'archive', true),
    archiveOnAppError: flag(row, 'archive_on_app_error', false),
    archiveSystem: optional('archive_system_id', 128),
    archivePath: optional('archive_path', 4096),
    workPath: optional('work_path', 4096),
    remoteQueue: optional('remote_queue', 255),
    nodeCount: count(row, 'node_count', 1),
    processorsPerNode: count(row, 'processors_per_node', 1),
    memoryMb: Math.round(amount(row, 'memory_gb') * 1024),
    maxSeconds: runTime(row),
    inputs: values(row, 'inputs') as Job['inputs'],
    parameters: values(row, 'parameters') as Job['parameters'],
    request: '',
    accepted,
    status,
    resumeAt: null,
    blockedCount: count(row, 'blocked_count', 0),
    created: time('created') ?? accepted,
    remoteSubmitted: time('remote_submitted'),
    remoteStarted: time('remote_started'),
    ended: time('ended') ?? lastUpdated,
    condition: null,
    lastMessage: (optional('last_message', 32_768) ?? '').slice(0, 2048),
    lastUpdated,
    remoteJobId: optional('remote_job_id', 255),
    schedulerJobId: optional('scheduler_job_id', 255),
    remoteEnded: time('remote_ended'),
    remoteOutcome: outcome === 'FINISHED' || outcome === 'FAILED' || outcome === 'FAILED_SKIP_ARCHIVE' ? outcome : null,
    exitCode: null,
    remoteCondition: null,
    remoteDetail: null,
    submitRetries: count(row, 'submit_retries', 0),
    statusChecks: count(row, 'status_checks', 0),
    failedChecks: count(row, 'failed_checks', 0),
    lastCheck: time('last_check'),
    visible: flag(row, 'visible', true),
    wanted: null,
    worker: null,
    epoch: 0,
    subscriptions: 0,
  };
  const history = row.list('history', MOST_HISTORY, (entry, path) => readEntry(entry, path, job));
  return { job, history: history.length > 0 ? history : [entryOf(job)] };
}

function readEntry(value: unknown, path: string, job: Job): OldEntry {
  if (!isFields(value)) throw invalid(path, 'must be a JSON object');
  const entry = new Reader(renamed(value), path);
  const at = timeOf(entry.path('created'), entry.required('created'));
  return {
    status: entry.text('status', { most: 32, pattern: /^[A-Z][A-Z_]*$/, form: 'a status' }),
    at: at ?? job.accepted,
    by: entry.optionalText('created_by', { most: 128 }) ?? job.owner,
    description: entry.optionalText('description', { most: 32_768, lines: true }) ?? '',
  };
}

/** A job without a history has at least its end. */
function entryOf({ status, ended, lastUpdated, owner, lastMessage }: Job): OldEntry {
  return { status, at: ended ?? lastUpdated, by: owner, description: lastMessage };
}

function renamed(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const [name, content] of Object.entries(value)) {
    const column = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const known = Object.hasOwn(AGAVE_NAMES, column) ? (AGAVE_NAMES[column] ?? column) : column;
    // Rows of Agave have a number besides.
    if (column === 'id' && typeof content === 'number') continue;
    found[known] ??= content;
  }
  return found;
}

/** Milliseconds since the epoch; times without a zone are UTC (sheet §10.1). */
function timeOf(path: string, value: unknown): number | null {
  if (value === undefined || value === null || value === '') return null;
  const given = typeof value === 'number' ? value : Date.parse(utc(String(value)));
  if (Number.isFinite(given) && Math.abs(given) < 8.64e15) return Math.trunc(given);
  throw invalid(path, 'must be a time, such as 2019-03-31 12:00:00 or 2019-03-31T12:00:00.000Z');
}

function utc(text: string): string {
  const [, day, time, zone = 'Z'] = SQL_TIME.exec(text.trim()) ?? [];
  return day === undefined ? text : `${day}T${time}${zone}`;
}

/** MySQL has 0 and 1. */
function flag(row: Reader, name: string, otherwise: boolean): boolean {
  const value = row.value(name) ?? otherwise;
  if (value === true || value === 1 || value === '1') return true;
  if (value === false || value === 0 || value === '0') return false;
  throw invalid(row.path(name), 'must be true or false, 1 or 0');
}

function count(row: Reader, name: string, otherwise: number): number {
  const value = Number(row.value(name) ?? otherwise);
  if (Number.isInteger(value) && value >= 0 && value <= 1_000_000_000) return value;
  throw invalid(row.path(name), 'must be a whole number');
}

function amount(row: Reader, name: string): number {
  const value = Number(row.value(name) ?? 0);
  if (Number.isFinite(value) && value >= 0 && value <= 1_000_000) return value;
  throw invalid(row.path(name), 'must be a number');
}

/** Aloe has hours, Agave `HH:mm:ss`. */
function runTime(row: Reader): number {
  const hours = row.value('max_hours');
  if (hours !== undefined) return Math.round(amount(row, 'max_hours') * 3600);
  const time = row.value('requested_time');
  if (time === undefined || time === '') return 0;
  const [, h, m, s] = RUN_TIME.exec(String(time)) ?? [];
  if (h === undefined) throw invalid(row.path('requested_time'), 'must be a time in the form HH:mm:ss');
  return Number(h) * 3600 + Number(m) * 60 + Number(s);
}

/** An object, or the text of one. */
function values(row: Reader, name: string): Readonly<Record<string, unknown>> {
  const value = row.value(name);
  if (value === undefined || value === '') return {};
  let found: unknown = value;
  if (typeof value === 'string' && value.length <= MOST_VALUES) {
    try {
      found = JSON.parse(value);
    } catch {
      throw invalid(row.path(name), 'must be a JSON object, or the text of one');
    }
  }
  if (!isFields(found) || JSON.stringify(found).length > MOST_VALUES) {
    throw invalid(row.path(name), `must be a JSON object of at most ${MOST_VALUES} characters`);
  }
  return found;
}
