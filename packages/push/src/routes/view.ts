import { formatRfc1123 } from '@muster/wire';
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
  const { user, dir, env, file } = spec.options;
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
    ...(file === undefined ? {} : includeFile ? { file } : { file_specified: true }),
    ...(spec.nodeTimeout === null ? {} : { node_timeout: spec.nodeTimeout }),
    ...(spec.ackTimeout === null ? {} : { ack_timeout: spec.ackTimeout }),
    ...(spec.concurrency === null ? {} : { concurrency: spec.concurrency }),
    ...(spec.startRate === null ? {} : { start_rate: spec.startRate }),
    ...(spec.maxFailures === null ? {} : { max_failures: spec.maxFailures }),
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
  };
}

/** An element of the list; in detail when the counts of its nodes are given. */
export function listedJob(row: JobRow, counts: NodeCounts | null): Record<string, unknown> {
  const spec = readSpec(row);
  return { ...plainJob(row, spec, false), ...(counts === null ? {} : { ...detail(row, spec), counts }) };
}

/** What tells a job from others. */
export function foundJob({
  id,
  command,
  status,
  created_at,
}: Pick<JobRow, 'id' | 'command' | 'status' | 'created_at'>) {
  return { id, command, status, created_at: formatRfc1123(created_at) };
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
    started_at: row.started_at === null ? null : formatRfc1123(row.started_at),
    updated_at: formatRfc1123(row.updated_at),
    stdout_bytes: row.stdout_bytes,
    stderr_bytes: row.stderr_bytes,
  };
}
