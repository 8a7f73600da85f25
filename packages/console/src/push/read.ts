import type { Answer, Api, Query } from '../api/client.js';
import type { Job, JobNode } from '../api/types.js';
import { type LiveJob, liveJob } from '../live/job.js';

/** Largest page of the nodes of a job. */
const PAGE = 10_000;

export function jobPath(id: string): string {
  return `/pushy/jobs/${encodeURIComponent(id)}`;
}

/** The job and all its nodes. */
export async function readJob(api: Api, id: string, signal?: AbortSignal): Promise<Answer<LiveJob>> {
  const path = jobPath(id);
  const job = await api.get<Job>(path, { detail: true }, signal);
  const nodes = await readJobNodes(api, id, {}, signal);
  return { body: liveJob(job.body, nodes), position: job.position, next: null };
}

/** All nodes of a job that a query finds, however many pages they are. */
export async function readJobNodes(
  api: Pick<Api, 'get' | 'page'>,
  id: string,
  query: Query,
  signal?: AbortSignal,
): Promise<readonly JobNode[]> {
  let page = await api.get<readonly JobNode[]>(`${jobPath(id)}/nodes`, { ...query, limit: PAGE }, signal);
  const nodes = [...page.body];
  while (page.next !== null) {
    page = await api.page<readonly JobNode[]>(page.next, signal);
    for (const node of page.body) nodes.push(node);
  }
  return nodes;
}
