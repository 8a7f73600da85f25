import type { Organization } from '@muster/platform/auth';
import { insert, type Store, type Write } from '@muster/store';
import { MusterError } from '../errors.js';
import { JOB_COLUMNS, storedJob } from '../repository/job-row.js';
import { type OldJob, readOldJob } from './agave-row.js';

/** Of one request. */
export const MOST_ROWS = 500;
/** Digits of the ids of entries, which are counted: none was made here. */
const ENTRY_DIGITS = 8;

const addJob = insert('jobs', { ...JOB_COLUMNS, visible: 'integer', foreign_job: 'integer' }, ['uuid']);
const addEntry = insert(
  'job_history',
  { uuid: 'text', id: 'text', event: 'text', status: 'text', at: 'integer', by: 'text', description: 'text' },
  ['uuid', 'id'],
);

export interface Imported {
  readonly imported: number;
  /** There already, and left as they are. */
  readonly present: number;
  readonly errors: readonly { readonly row: number; readonly error: string }[];
}

/** Takes over jobs that another system ran: they are listed and read, and nothing more. @param also Stored with them. */
export async function importJobs(
  store: Pick<Store, 'read' | 'commit'>,
  organization: Organization,
  rows: readonly unknown[],
  also: readonly Write[],
): Promise<Imported> {
  const errors: { row: number; error: string }[] = [];
  const found = new Map<string, OldJob>();
  let present = 0;
  rows.forEach((value, index) => {
    try {
      const old = readOldJob(value, organization);
      if (found.has(old.job.uuid)) present += 1;
      else found.set(old.job.uuid, old);
    } catch (error) {
      if (!(error instanceof MusterError)) throw error;
      errors.push({ row: index + 1, error: error.message });
    }
  });
  if (found.size > 0) {
    const known = await store.read
      .selectFrom('jobs')
      .select('uuid')
      .where('uuid', 'in', [...found.keys()])
      .execute();
    for (const { uuid } of known) found.delete(uuid);
    present += known.length;
  }
  const writes = [...found.values()].flatMap(({ job, history }) => [
    addJob({ ...storedJob(job), visible: Number(job.visible), foreign_job: 1 }),
    ...history.map(({ status, at, by, description }, index) => {
      const id = String(index).padStart(ENTRY_DIGITS, '0');
      return addEntry({ uuid: job.uuid, id, event: status, status, at, by, description });
    }),
  ]);
  await store.commit([...writes, ...also]);
  return { imported: found.size, present, errors };
}
