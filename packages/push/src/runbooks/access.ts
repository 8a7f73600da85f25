import { type Members, membersWritten } from '@muster/platform/auth';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { findJob } from '../repository/reads.js';
import { isJobId } from '../request/job-id.js';
import type { PushJobSpec } from '../types.js';
import { findRunbook, findRunbookById } from './reads.js';

type Read = Kysely<Schema>;

/** Those whom a saved command names as its runners. */
export async function runnersOf(read: Read, orgId: string, name: string): Promise<Members | undefined> {
  const row = await findRunbook(read, orgId, name);
  return row && membersWritten(JSON.parse(row.runners) as string[]);
}

/** Id of the principal who made or last changed it. */
export async function authorOf(read: Read, orgId: string, name: string): Promise<string | undefined> {
  return (await findRunbook(read, orgId, name))?.author_id;
}

/** The runners, as they are now, of the saved command that a job is a run of. */
export async function runnersOfJob(read: Read, orgId: string, jobId: string): Promise<Members | undefined> {
  const job = isJobId(jobId) ? await findJob(read, orgId, jobId) : undefined;
  const id = job && (JSON.parse(job.spec) as PushJobSpec).runbook?.id;
  const row = id === undefined ? undefined : await findRunbookById(read, orgId, id);
  return row && membersWritten(JSON.parse(row.runners) as string[]);
}
