import { createHash } from 'node:crypto';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import type { JobNodeRow } from './writes.js';

/** What a node's run came to, as far as nodes are compared by it. */
export type ResultRow = Pick<
  JobNodeRow,
  | 'node'
  | 'status'
  | 'reason'
  | 'exit_code'
  | 'signal'
  | 'stdout_bytes'
  | 'stderr_bytes'
  | 'output_hash'
  | 'output_missing'
>;

/** Nodes with the same result. */
export interface ResultGroup extends Omit<ResultRow, 'node'> {
  /** Names the group within its job, for as long as the job is kept: 32 hex digits. */
  readonly group: string;
  /** By name. */
  readonly nodes: readonly string[];
}

const RAN = ['succeeded', 'failed', 'aborted', 'crashed', 'timed_out'];

/** Nodes whose part in the job is over and that were started, by name. */
export function resultRows(read: Kysely<Schema>, jobId: string): Promise<ResultRow[]> {
  return read
    .selectFrom('push_job_nodes')
    .select(['node', 'status', 'reason', 'exit_code', 'signal'])
    .select(['stdout_bytes', 'stderr_bytes', 'output_hash', 'output_missing'])
    .where('job_id', '=', jobId)
    .where('status', 'in', RAN)
    .orderBy('node')
    .execute();
}

/** The largest first; of the same size that with the first node. */
export function groupResults(rows: readonly ResultRow[]): ResultGroup[] {
  const groups = new Map<string, { readonly of: Omit<ResultRow, 'node'>; readonly nodes: string[] }>();
  for (const { node, ...of } of rows) {
    const key = JSON.stringify([
      of.status,
      of.reason,
      of.exit_code,
      of.signal,
      of.output_hash,
      of.stdout_bytes,
      of.stderr_bytes,
      of.output_missing,
    ]);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, { of, nodes: [node] });
    else known.nodes.push(node);
  }
  return [...groups]
    .map(([key, { of, nodes }]) => ({ group: hashed(key), ...of, nodes }))
    .sort((a, b) => b.nodes.length - a.nodes.length);
}

function hashed(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 32);
}
