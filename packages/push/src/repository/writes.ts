import { type Schema, upsert, type Write } from '@muster/store';
import type { Selectable } from 'kysely';

export type JobRow = Selectable<Schema['push_jobs']>;
export type JobNodeRow = Selectable<Schema['push_job_nodes']>;

/** Everything that is stored of push jobs is written through these two; reading is in `reads.ts`. */

export const savePushJob: (row: JobRow) => Write = upsert(
  'push_jobs',
  {
    id: 'text',
    org_id: 'text',
    command: 'text',
    spec: 'text',
    requester: 'text',
    status: 'text',
    phase: 'text',
    ending: 'text',
    reason: 'text',
    node_count: 'integer',
    created_at: 'integer',
    updated_at: 'integer',
    deadline: 'integer',
    stage: 'text',
  },
  ['id'],
);

export const savePushJobNode: (row: JobNodeRow) => Write = upsert(
  'push_job_nodes',
  {
    job_id: 'text',
    node: 'text',
    status: 'text',
    starting: 'integer',
    reason: 'text',
    exit_code: 'integer',
    signal: 'text',
    started_at: 'integer',
    updated_at: 'integer',
    stdout_bytes: 'integer',
    stderr_bytes: 'integer',
    output_missing: 'text',
    output_hash: 'text',
  },
  ['job_id', 'node'],
);
