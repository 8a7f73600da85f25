import { type Organization, organizationsById } from '@muster/platform/auth';
import { subjectOf } from '@muster/platform/feeds';
import type { Schema } from '@muster/store';
import type { ExpressionBuilder, Kysely } from 'kysely';
import { PUSH_FEED } from '../events.js';
import { JOBS_AT_ONCE, MAX_PAGE_TEXT } from '../limits.js';
import { isJobId } from '../request/job-id.js';
import { FINAL_PUSH_JOB_NODE_STATUSES, type PushJobPhase, type PushJobSpec } from '../types.js';
import type { JobNodeRow, JobRow } from './writes.js';

type Read = Kysely<Schema>;

/** A job of this organization; a job of another one does not exist (sheet §7.7). */
export function findJob(read: Read, orgId: string, jobId: string): Promise<JobRow | undefined> {
  return read
    .selectFrom('push_jobs')
    .selectAll()
    .where('id', '=', jobId)
    .where('org_id', '=', orgId)
    .executeTakeFirst();
}

/** How these jobs stand, in no order. */
export async function jobStatuses(
  read: Read,
  ids: readonly string[],
): Promise<Pick<JobRow, 'id' | 'status' | 'phase'>[]> {
  if (ids.length === 0) return [];
  return read.selectFrom('push_jobs').select(['id', 'status', 'phase']).where('id', 'in', ids).execute();
}

/** Id of the principal who started the job, when there is such a job. */
export async function starterOf(read: Read, orgId: string, jobId: string): Promise<string | undefined> {
  const job = isJobId(jobId) ? await findJob(read, orgId, jobId) : undefined;
  return job === undefined ? undefined : (JSON.parse(job.spec) as PushJobSpec).requesterId;
}

/** Jobs of this organization whose id begins so, by id; of one requester when it is named. */
export function jobsBeginning(
  read: Read,
  orgId: string,
  beginning: string,
  limit: number,
  requester?: string,
): Promise<Pick<JobRow, 'id' | 'command' | 'status' | 'created_at'>[]> {
  const jobs = read
    .selectFrom('push_jobs')
    .select(['id', 'command', 'status', 'created_at'])
    .where('org_id', '=', orgId)
    .where('id', '>=', beginning)
    // What follows the digits.
    .where('id', '<', `${beginning}g`)
    .orderBy('id')
    .limit(limit);
  return (requester === undefined ? jobs : jobs.where('requester', '=', requester)).execute();
}

/** Of the newest of this organization, in the order of the index. Neither database reads for it the specifications, which may be large. */
export function newestCommands(read: Read, orgId: string, limit: number): Promise<Pick<JobRow, 'id' | 'command'>[]> {
  const jobs = read.selectFrom('push_jobs').select(['id', 'command']).where('org_id', '=', orgId);
  return jobs.orderBy('created_at', 'desc').orderBy('id').limit(limit).execute();
}

/** The position after a row of the list: its creation time and id. */
export interface JobCursor {
  readonly createdAt: number;
  readonly id: string;
}

export interface JobFilter {
  /** `HELD` among them: those that run, and wait for somebody to continue them. */
  readonly statuses?: readonly string[];
  /** Exact, or with `*` at the end everything that begins so. */
  readonly command?: string;
  readonly requester?: string;
  /** Besides: only jobs of this requester may be seen. */
  readonly only?: string;
  readonly node?: string;
  /** Milliseconds, both exclusive. */
  readonly createdAfter?: number;
  readonly createdBefore?: number;
}

/** No status of its own: a job that is held is running. */
export const HELD = 'held';

/** `-created_at`, the newest first, unless given. */
export type JobOrder = 'created_at' | '-created_at';

/** In the order of the index, or against it, also among jobs of one millisecond. */
export function listJobs(
  read: Read,
  orgId: string,
  filter: JobFilter,
  page: { readonly limit: number; readonly after?: JobCursor; readonly sort?: JobOrder | undefined },
): Promise<JobRow[]> {
  let query = read.selectFrom('push_jobs').selectAll().where('org_id', '=', orgId);
  const { statuses, command, requester, only, node, createdAfter, createdBefore } = filter;
  if (statuses !== undefined) query = query.where((eb) => eb.or(jobsOfStatus(eb, statuses)));
  if (command?.endsWith('*')) {
    const prefix = command.slice(0, -1);
    query = query.where((eb) =>
      eb(eb.fn<string>('substr', ['command', eb.lit(1), eb.val([...prefix].length)]), '=', prefix),
    );
  } else if (command !== undefined) {
    query = query.where('command', '=', command);
  }
  if (requester !== undefined) query = query.where('requester', '=', requester);
  if (only !== undefined) query = query.where('requester', '=', only);
  if (node !== undefined) {
    query = query.where((eb) =>
      eb.exists(
        eb
          .selectFrom('push_job_nodes')
          .select('push_job_nodes.node')
          .whereRef('push_job_nodes.job_id', '=', 'push_jobs.id')
          .where('push_job_nodes.node', '=', node),
      ),
    );
  }
  if (createdAfter !== undefined) query = query.where('created_at', '>', createdAfter);
  if (createdBefore !== undefined) query = query.where('created_at', '<', createdBefore);
  const { after, sort = '-created_at' } = page;
  const oldestFirst = sort === 'created_at';
  if (after !== undefined) {
    query = query.where((eb) =>
      eb.or([
        eb('created_at', oldestFirst ? '>' : '<', after.createdAt),
        eb.and([eb('created_at', '=', after.createdAt), eb('id', oldestFirst ? '<' : '>', after.id)]),
      ]),
    );
  }
  const ordered = oldestFirst
    ? query.orderBy('created_at').orderBy('id', 'desc')
    : query.orderBy('created_at', 'desc').orderBy('id');
  return ordered.limit(page.limit).execute();
}

function jobsOfStatus(eb: ExpressionBuilder<Schema, 'push_jobs'>, statuses: readonly string[]) {
  const plain = statuses.filter((status) => status !== HELD);
  const holds = ['confirm', 'failures'].map((hold) => eb('stage', 'like', `%"hold":"${hold}"%`));
  return [
    ...(plain.length === 0 ? [] : [eb('status', 'in', plain)]),
    ...(plain.length === statuses.length ? [] : [eb.and([eb('phase', '=', 'running'), eb.or(holds)])]),
  ];
}

/** A page of the list of those that `may` be seen, cut short when its jobs are large. `more`: there are further jobs after its last. */
export async function pageOfJobs(
  read: Read,
  orgId: string,
  filter: JobFilter,
  page: { readonly limit: number; readonly after?: JobCursor | undefined; readonly sort?: JobOrder | undefined },
  may: (jobId: string) => Promise<boolean> = async () => true,
): Promise<{ readonly rows: readonly JobRow[]; readonly more: boolean }> {
  const rows: JobRow[] = [];
  let characters = 0;
  let after = page.after;
  for (;;) {
    // Of those that only some may see, many may be left out.
    const limit = filter.only === undefined ? Math.min(JOBS_AT_ONCE, page.limit + 1 - rows.length) : JOBS_AT_ONCE;
    const found = await listJobs(read, orgId, filter, {
      limit,
      sort: page.sort,
      ...(after !== undefined && { after }),
    });
    for (const row of found) {
      after = { createdAt: row.created_at, id: row.id };
      if (!(await may(row.id))) continue;
      if (rows.length === page.limit || characters > MAX_PAGE_TEXT) return { rows, more: true };
      rows.push(row);
      characters += row.spec.length;
    }
    if (found.length < limit) return { rows, more: false };
  }
}

/** Job-nodes by name. */
export function listJobNodes(
  read: Read,
  jobId: string,
  filter: { readonly statuses?: readonly string[]; readonly names?: readonly string[] },
  page: { readonly limit: number; readonly after?: string },
): Promise<JobNodeRow[]> {
  let query = read.selectFrom('push_job_nodes').selectAll().where('job_id', '=', jobId);
  if (filter.statuses !== undefined) query = query.where('status', 'in', filter.statuses);
  if (page.after !== undefined) query = query.where('node', '>', page.after);
  if (filter.names !== undefined) {
    const { after = '' } = page;
    // The databases take so many values.
    const names = filter.names.filter((name) => name > after).slice(0, page.limit);
    if (names.length === 0) return Promise.resolve([]);
    query = query.where('node', 'in', names);
  }
  return query.orderBy('node').limit(page.limit).execute();
}

export function findJobNode(read: Read, jobId: string, node: string): Promise<JobNodeRow | undefined> {
  return read
    .selectFrom('push_job_nodes')
    .selectAll()
    .where('job_id', '=', jobId)
    .where('node', '=', node)
    .executeTakeFirst();
}

/** Nodes whose captured output is not whole for another cause than the limit, and why, by name. */
export async function incompleteOutputs(
  read: Read,
  jobId: string,
): Promise<{ node: string; output_missing: string }[]> {
  const rows = await read
    .selectFrom('push_job_nodes')
    .select(['node', 'output_missing'])
    .where('job_id', '=', jobId)
    .where('output_missing', 'is not', null)
    .orderBy('node')
    .execute();
  return rows.map(({ node, output_missing }) => ({ node, output_missing: output_missing ?? '' }));
}

/** Nodes that have ended and wrote something. */
export async function endedOutputs(read: Read, jobId: string): Promise<string[]> {
  const rows = await read
    .selectFrom('push_job_nodes')
    .select('node')
    .where('job_id', '=', jobId)
    .where('status', 'in', FINAL_PUSH_JOB_NODE_STATUSES)
    .where(({ eb, or }) => or([eb('stdout_bytes', '>', 0), eb('stderr_bytes', '>', 0)]))
    .execute();
  return rows.map(({ node }) => node);
}

/** Every node of a job with its status, by name: all that the job object shows of them. */
export function nodeStatuses(read: Read, jobId: string): Promise<{ node: string; status: string }[]> {
  return read
    .selectFrom('push_job_nodes')
    .select(['node', 'status'])
    .where('job_id', '=', jobId)
    .orderBy('node')
    .execute();
}

/** Job-node status to how many nodes of the job have it; statuses without nodes are absent. */
export type NodeCounts = Readonly<Record<string, number>>;

/** Counts for jobs of a list, in one query for every `JOBS_AT_ONCE`; a job without nodes is absent. */
export async function nodeCounts(read: Read, jobIds: readonly string[]): Promise<ReadonlyMap<string, NodeCounts>> {
  const counts = new Map<string, Record<string, number>>();
  for (let from = 0; from < jobIds.length; from += JOBS_AT_ONCE) {
    const rows = await read
      .selectFrom('push_job_nodes')
      .select((eb) => ['job_id', 'status', eb.fn.countAll<number>().as('nodes')])
      .where('job_id', 'in', jobIds.slice(from, from + JOBS_AT_ONCE))
      .groupBy(['job_id', 'status'])
      .orderBy('status')
      .execute();
    for (const { job_id, status, nodes } of rows) {
      const ofJob = counts.get(job_id) ?? {};
      ofJob[status] = Number(nodes);
      counts.set(job_id, ofJob);
    }
  }
  return counts;
}

/** How one node stands in each of these jobs, by job id. */
export async function statusesOfNode(
  read: Read,
  jobIds: readonly string[],
  node: string,
): Promise<ReadonlyMap<string, string>> {
  const statuses = new Map<string, string>();
  for (let from = 0; from < jobIds.length; from += JOBS_AT_ONCE) {
    const rows = await read
      .selectFrom('push_job_nodes')
      .select(['job_id', 'status'])
      .where('job_id', 'in', jobIds.slice(from, from + JOBS_AT_ONCE))
      .where('node', '=', node)
      .execute();
    for (const { job_id, status } of rows) statuses.set(job_id, status);
  }
  return statuses;
}

export interface UnfinishedJob {
  readonly org: Organization;
  readonly job: JobRow;
  readonly nodes: readonly JobNodeRow[];
}

/** By name, so that the index finds them: all but `finished`. */
export const UNFINISHED = ['new', 'voting', 'running', 'aborting'] satisfies PushJobPhase[];

/** What a starting server goes on with (Push Jobs §5.6), oldest first. */
export async function unfinishedJobs(read: Read): Promise<UnfinishedJob[]> {
  const organizations = await organizationsById(read);
  const jobs = await read
    .selectFrom('push_jobs')
    .selectAll()
    .where('phase', 'in', UNFINISHED)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  const unfinished: UnfinishedJob[] = [];
  for (const job of jobs) {
    const org = organizations.get(job.org_id);
    if (org === undefined) continue;
    const nodes = await read
      .selectFrom('push_job_nodes')
      .selectAll()
      .where('job_id', '=', job.id)
      .orderBy('node')
      .execute();
    unfinished.push({ org, job, nodes });
  }
  return unfinished;
}

/** Subjects of the event log that are to stay: unfinished jobs' feeds are replayed from their start. */
export async function openPushSubjects(read: Read): Promise<string[]> {
  const rows = await read.selectFrom('push_jobs').select('id').where('phase', 'in', UNFINISHED).execute();
  return rows.map(({ id }) => subjectOf(PUSH_FEED, id));
}

/** Finished jobs whose end is longer ago, oldest first. */
export async function jobsEndedBefore(read: Read, before: number, limit: number): Promise<string[]> {
  const rows = await read
    .selectFrom('push_jobs')
    .select('id')
    .where('phase', '=', 'finished')
    .where('updated_at', '<', before)
    .orderBy('updated_at')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

/** Jobs that are gone while something is left of them. */
export async function deletedJobs(read: Read, limit: number): Promise<string[]> {
  const rows = await read.selectFrom('deleted_push_jobs').select('job_id').orderBy('job_id').limit(limit).execute();
  return rows.map((row) => row.job_id);
}

/**
 * Nodes of a job that stand at one of these statuses, by name. None when the job was deleted: its nodes go little by
 * little, and some of them must not be taken for all.
 */
export async function jobNodeNames(read: Read, jobId: string, statuses: readonly string[]): Promise<string[]> {
  const rows = await read
    .selectFrom('push_job_nodes')
    .innerJoin('push_jobs', 'push_jobs.id', 'push_job_nodes.job_id')
    .select('node')
    .where('job_id', '=', jobId)
    .where('push_job_nodes.status', 'in', statuses)
    .orderBy('node')
    .execute();
  return rows.map((row) => row.node);
}

/** Nodes that have not ended yet. */
export function unfinishedNodeNames(read: Read, jobId: string): Promise<string[]> {
  return jobNodeNames(read, jobId, ['new', 'ready', 'running']);
}
