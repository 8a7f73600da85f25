import { isoSeconds } from '@muster/base';
import { formatIso, formatRfc1123 } from '@muster/wire';
import type { WaitingNode } from '../controller/why.js';
import type { Stage } from '../machine/stage.js';
import type { NodeCounts } from '../repository/reads.js';
import type { JobNodeRow, JobRow } from '../repository/writes.js';
import type { PushJobSpec } from '../types.js';

/** What a caller may ask to see besides the deployed keys. */
export interface JobViewOptions {
  /** Show the file itself, not only that there is one. */
  readonly includeFile: boolean;
  /** Show what the deployed server never returned. */
  readonly detail: boolean;
}

function readSpec(row: JobRow): PushJobSpec {
  return JSON.parse(row.spec) as PushJobSpec;
}

/** Keys in the order of sheet §7.7; what was not given at creation is absent. Clients compare whole objects. */
function plainJob(row: JobRow, spec: PushJobSpec, includeFile: boolean): Record<string, unknown> {
  const { user, dir, env, file, secrets, script, uploads, fetch } = spec.options;
  const { runbook } = spec;
  const secret = runbook?.secret === true;
  return {
    id: row.id,
    command: row.command,
    status: row.status,
    run_timeout: spec.runTimeout,
    created_at: formatRfc1123(row.created_at),
    updated_at: formatRfc1123(row.updated_at),
    ...(user === undefined ? {} : { user }),
    ...(dir === undefined ? {} : { dir }),
    ...(env === undefined ? {} : { env }),
    ...(spec.capture ? { capture_output: true } : {}),
    ...(file === undefined && !secret ? {} : includeFile && !secret ? { file } : { file_specified: true }),
    ...(secrets === undefined ? {} : { secrets }),
    ...(script === undefined ? {} : { script }),
    ...(uploads === undefined ? {} : { uploads }),
    ...(fetch === undefined ? {} : { fetch }),
    ...(runbook && {
      runbook: { name: runbook.name, version: runbook.version, parameters: runbook.parameters },
    }),
    ...(spec.nodeTimeout === null ? {} : { node_timeout: spec.nodeTimeout }),
    ...(spec.ackTimeout === null ? {} : { ack_timeout: spec.ackTimeout }),
    ...(spec.concurrency === null ? {} : { concurrency: spec.concurrency }),
    ...(spec.startRate === null ? {} : { start_rate: spec.startRate }),
    ...(spec.maxFailures === null ? {} : { max_failures: spec.maxFailures }),
    ...(spec.onFailures === undefined ? {} : { on_failures: spec.onFailures }),
    ...batchesView(spec),
    ...(spec.waitTimeout === undefined ? {} : { when_busy: 'wait', wait_timeout: spec.waitTimeout }),
  };
}

export function batchesView({
  batches,
  batchPause,
  batchConfirm,
}: Pick<PushJobSpec, 'batches' | 'batchPause' | 'batchConfirm'>) {
  return {
    ...(batches !== undefined && { batches: [...batches] }),
    ...(batchPause !== undefined && { batch_pause: batchPause }),
    ...(batchConfirm !== undefined && { batch_confirm: true }),
  };
}

function detail(row: JobRow, spec: PushJobSpec): Record<string, unknown> {
  return {
    quorum: spec.quorum,
    voting_timeout: spec.votingTimeout,
    target: spec.target,
    created_by: row.requester,
    node_count: row.node_count,
    aborting: row.phase === 'aborting',
    ending: row.ending,
    reason: row.reason,
    deadline: row.deadline === null ? null : formatRfc1123(row.deadline),
    ...batch(row),
  };
}

/** How far a job is that runs in batches, or was held, and what its next start waits for. */
function batch({ phase, stage: text }: JobRow): Record<string, unknown> {
  if (text === null) return {};
  const { batch, left, hold, until, excused } = JSON.parse(text) as Stage;
  const held = phase === 'running' ? hold : null;
  return { batch: { number: batch, left, hold: held, until: until === null ? null : formatIso(until), excused } };
}

/** An element of the list; in detail when the counts of its nodes are given. @param nodeStatus Of the node that was asked for */
export function listedJob(row: JobRow, counts: NodeCounts | null, nodeStatus?: string): Record<string, unknown> {
  const spec = readSpec(row);
  return {
    ...plainJob(row, spec, false),
    ...(counts === null ? {} : { ...detail(row, spec), counts }),
    ...(nodeStatus === undefined ? {} : { node_status: nodeStatus }),
  };
}

/** What whoever changed a job without a right to look at it learns of it. */
export function jobStanding({ id, status }: Pick<JobRow, 'id' | 'status'>) {
  return { id, status };
}

/** What tells a job from others. */
export function foundJob({
  id,
  command,
  status,
  created_at,
}: Pick<JobRow, 'id' | 'command' | 'status' | 'created_at'>) {
  return { id, command, status, created_at: formatIso(created_at) };
}

/** A single job with its nodes by status; statuses without nodes are absent. */
export function singleJob(
  row: JobRow,
  nodes: readonly { readonly node: string; readonly status: string }[],
  options: JobViewOptions,
): Record<string, unknown> {
  const spec = readSpec(row);
  const byStatus = new Map<string, string[]>();
  for (const { node, status } of nodes) {
    const names = byStatus.get(status);
    if (names === undefined) byStatus.set(status, [node]);
    else names.push(node);
  }
  const counts = Object.fromEntries([...byStatus].map(([status, names]) => [status, names.length]));
  return {
    ...plainJob(row, spec, options.includeFile),
    nodes: Object.fromEntries(byStatus),
    ...(options.detail ? { ...detail(row, spec), counts } : {}),
  };
}

/** One node of a job in full. */
export function jobNode(row: JobNodeRow): Record<string, unknown> {
  return {
    node_name: row.node,
    status: row.status,
    reason: row.reason,
    exit_code: row.exit_code,
    signal: row.signal,
    started_at: row.started_at === null ? null : formatIso(row.started_at),
    updated_at: formatIso(row.updated_at),
    stdout_bytes: row.stdout_bytes,
    stderr_bytes: row.stderr_bytes,
  };
}

/** A node that has not ended, and what it waits for. */
export function waitingNode({ node, status, waitsFor, reason, jobId, since }: WaitingNode) {
  return {
    node_name: node,
    status,
    waits_for: waitsFor,
    reason,
    job_id: jobId,
    since: since === null ? null : formatIso(since),
  };
}

/** Of a job that nobody carries out any more. */
export function ended({ id, status, reason, updated_at }: JobRow): string {
  const because = reason === null ? '' : `: ${reason}`;
  return `Job ${id} is ${status} since ${isoSeconds(updated_at)}${because}. None of its nodes waits.`;
}
