import type { Answer, Api } from '../api/client.js';
import type { LongJob, LongJobHistory, LongJobShares, LongJobWhy } from '../api/types.gen.js';
import { hasEnded, STATUSES } from '../statuses/jobs.js';

/** What lists show of a job. */
export type ListedJob = Pick<
  LongJob,
  'id' | 'name' | 'owner' | 'appId' | 'systemId' | 'status' | 'accepted' | 'ended' | 'condition' | 'lastStatusMessage'
>;

const FIELDS: readonly (keyof ListedJob)[] = [
  'id',
  'name',
  'owner',
  'appId',
  'systemId',
  'status',
  'accepted',
  'ended',
  'condition',
  'lastStatusMessage',
];

/** Most that the server gives at once. */
export const PAGE = 250;

export interface JobFilter {
  /** A selector over attributes of jobs; '': all. */
  readonly q: string;
  readonly statuses: readonly string[];
  readonly hidden: boolean;
}

export interface ListedJobs {
  readonly jobs: readonly ListedJob[];
  readonly more: boolean;
}

/** The newest first. */
export async function readJobs(
  api: Api,
  { q, statuses, hidden }: JobFilter,
  pages: number,
  signal?: AbortSignal,
): Promise<Answer<ListedJobs>> {
  const jobs: ListedJob[] = [];
  let position: number | null = null;
  for (let page = 0; page < pages; page += 1) {
    const answer: Answer<readonly ListedJob[]> = await api.get(
      '/jobs/v2',
      {
        naked: true,
        filter: FIELDS.join(','),
        orderBy: 'accepted',
        order: 'DESC',
        limit: PAGE,
        offset: page * PAGE,
        where: q.trim() === '' ? undefined : q,
        'status.in': statuses.length === 0 ? undefined : statuses.join(','),
        visible: hidden ? false : undefined,
      },
      signal,
    );
    position ??= answer.position;
    jobs.push(...answer.body);
    if (answer.body.length < PAGE) return { body: { jobs, more: false }, position, next: null };
  }
  return { body: { jobs, more: true }, position, next: null };
}

/** Those that ended last. */
export async function readEndedJobs(api: Api, most: number, signal?: AbortSignal): Promise<Answer<ListedJobs>> {
  const { body, ...answer } = await api.get<readonly ListedJob[]>(
    '/jobs/v2',
    {
      naked: true,
      filter: FIELDS.join(','),
      orderBy: 'ended',
      order: 'DESC',
      limit: most,
      'status.in': STATUSES.filter(hasEnded).join(','),
    },
    signal,
  );
  return { ...answer, body: { jobs: body, more: body.length === most } };
}

export interface KnownJob {
  readonly job: LongJob;
  readonly history: LongJobHistory;
  readonly why: LongJobWhy;
  readonly shares: LongJobShares;
}

/** Entries of a history that are shown; the last ones count. */
const MOST_HISTORY = 250;

export async function readJob(api: Api, id: string, signal?: AbortSignal): Promise<Answer<KnownJob>> {
  const path = jobPath(id);
  // Before the rest, so that nothing in it is older than the position.
  const job = await api.get<LongJob>(path, { naked: true }, signal);
  const [history, why, shares] = await Promise.all([
    api.get<LongJobHistory>(`${path}/history`, { naked: true, order: 'DESC', limit: MOST_HISTORY }, signal),
    api.get<LongJobWhy>(`/job-recovery/jobs/${encodeURIComponent(id)}/why`, {}, signal),
    api.get<LongJobShares>(`${path}/pems`, { naked: true }, signal),
  ]);
  return {
    body: { job: job.body, history: [...history.body].reverse(), why: why.body, shares: shares.body },
    position: job.position,
    next: null,
  };
}

export function jobPath(id: string): string {
  return `/jobs/v2/${encodeURIComponent(id)}`;
}
