import { insert, type Schema, upsert, type Write } from '@muster/store';
import type { Selectable } from 'kysely';

export type JobRow = Selectable<Schema['jobs']>;
export type JobNodeRow = Selectable<Schema['job_nodes']>;
export type JobOutputRow = Selectable<Schema['job_outputs']>;

/** Everything that is stored of push jobs is written through these three; reading is in `reads.ts`. */

export const saveJob: (row: JobRow) => Write = upsert(
  'jobs',
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
    event_seq: 'integer',
    server: 'text',
  },
  ['id'],
);

export const saveJobNode: (row: JobNodeRow) => Write = upsert(
  'job_nodes',
  {
    job_id: 'text',
    org_id: 'text',
    node: 'text',
    status: 'text',
    starting: 'integer',
    reason: 'text',
    exit_code: 'integer',
    signal: 'text',
    incarnation: 'text',
    started_at: 'integer',
    updated_at: 'integer',
    stdout_bytes: 'integer',
    stderr_bytes: 'integer',
  },
  ['job_id', 'node'],
);

/** Natural key, so that a chunk that is sent again after a lost confirmation changes nothing. */
export const appendOutput: (row: JobOutputRow) => Write = insert(
  'job_outputs',
  { job_id: 'text', node: 'text', stream: 'text', position: 'integer', data: 'bytes' },
  ['job_id', 'node', 'stream', 'position'],
);
