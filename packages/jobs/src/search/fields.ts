import { type RawBuilder, sql } from 'kysely';
import type { JobRow } from '../repository/job-row.js';

/** What a field holds; says which operators it has (sheet §8.5). */
export type FieldType = 'text' | 'status' | 'event' | 'boolean' | 'integer' | 'number' | 'hours' | 'date';

export interface Field<Column extends string> {
  readonly type: FieldType;
  /** What is compared and ordered by, in the database. */
  readonly value: RawBuilder<unknown>;
  /** Where it stands in a row as it is. */
  readonly column: Column | null;
  /** Never null. */
  readonly always?: true;
}

/** By lower-case names. */
export type Fields<Column extends string> = ReadonlyMap<string, Field<Column>>;

type JobColumn = keyof JobRow & string;

const of = (type: FieldType, column: JobColumn, always?: true): Field<JobColumn> => ({
  type,
  value: sql.ref(`jobs.${column}`),
  column,
  ...(always && { always }),
});

/** Between two times, in seconds. */
const seconds = (from: JobColumn): Field<JobColumn> => ({
  type: 'number',
  value: sql`abs(${sql.ref('jobs.ended')} - ${sql.ref(`jobs.${from}`)}) / 1000.0`,
  column: null,
});

const REMOTE_QUEUE = of('text', 'remote_queue');
const REMOTE_STARTED = of('date', 'remote_started');
const REMOTE_SUBMITTED = of('date', 'remote_submitted');
const ENDED = of('date', 'ended');
const REMOTE_ID = of('text', 'remote_job_id');
const HOURS = of('hours', 'max_seconds', true);
const WORK_PATH = of('text', 'work_path');
const RETRIES = of('integer', 'submit_retries', true);
const UPDATED = of('date', 'last_updated', true);
const MESSAGE = of('text', 'last_message', true);
const SYSTEM = of('text', 'system_id', true);
const APP = of('text', 'app_id', true);

/** What jobs are searched and sorted by. */
export const JOB_FIELDS: Fields<JobColumn> = new Map<string, Field<JobColumn>>([
  ['appid', APP],
  ['archive', of('boolean', 'archive', true)],
  ['archivepath', of('text', 'archive_path')],
  ['archivesystem', of('text', 'archive_system')],
  ['remotequeue', REMOTE_QUEUE],
  ['accepted', of('date', 'accepted', true)],
  ['created', of('date', 'created')],
  ['ended', ENDED],
  ['laststatusmessage', MESSAGE],
  ['executionsystem', SYSTEM],
  ['systemid', SYSTEM],
  ['id', of('text', 'uuid', true)],
  ['inputs', of('text', 'inputs', true)],
  ['lastmodified', UPDATED],
  ['lastupdated', UPDATED],
  ['remotejobid', REMOTE_ID],
  ['schedulerjobid', of('text', 'scheduler_job_id')],
  ['maxhours', HOURS],
  ['memorypernode', { type: 'number', value: sql`${sql.ref('jobs.memory_mb')} / 1024.0`, column: null, always: true }],
  ['name', of('text', 'name', true)],
  ['nodecount', of('integer', 'node_count', true)],
  ['workpath', WORK_PATH],
  ['owner', of('text', 'owner', true)],
  ['parameters', of('text', 'parameters', true)],
  ['processorspernode', of('integer', 'processors_per_node', true)],
  ['submitretries', RETRIES],
  ['remotestarted', REMOTE_STARTED],
  ['remotesubmitted', REMOTE_SUBMITTED],
  ['status', of('status', 'status', true)],
  ['visible', of('boolean', 'visible', true)],
  ['runtime', seconds('remote_started')],
  ['walltime', seconds('created')],
  ['tenantqueue', of('text', 'queue', true)],
  // As Agave called them.
  ['batchqueue', REMOTE_QUEUE],
  ['starttime', REMOTE_STARTED],
  ['endtime', ENDED],
  ['submittime', REMOTE_SUBMITTED],
  ['localid', REMOTE_ID],
  ['maxruntime', HOURS],
  ['outputpath', WORK_PATH],
  ['retries', RETRIES],
  ['errormessage', MESSAGE],
  ['softwarename', APP],
  ['system', SYSTEM],
]);

/** Of an entry of a history. */
export type HistoryColumn = 'id' | 'event' | 'at' | 'description' | 'by' | 'address';

const history = (type: FieldType, column: HistoryColumn): Field<HistoryColumn> => ({
  type,
  value: sql.ref(`job_history.${column}`),
  column,
  always: true,
});

/** What the history of a job is searched and sorted by. */
export const HISTORY_FIELDS: Fields<HistoryColumn> = new Map<string, Field<HistoryColumn>>([
  ['id', history('text', 'id')],
  ['status', history('event', 'event')],
  ['created', history('date', 'at')],
  ['description', history('text', 'description')],
  ['createdby', history('text', 'by')],
  ['ipaddress', { ...history('text', 'address'), value: sql`coalesce(job_history.address, '')` }],
]);

/** The same for those with whom it is shared: where others were is not theirs to know. */
export const SHARED_HISTORY_FIELDS: Fields<HistoryColumn> = new Map(
  [...HISTORY_FIELDS].filter(([name]) => name !== 'ipaddress'),
);
