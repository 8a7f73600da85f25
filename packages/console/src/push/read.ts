import type { Answer, Api } from '../api/client.js';
import type { Job, JobNode } from '../api/types.js';
import { type LiveJob, liveJob } from '../live/job.js';

/** Largest page of the nodes of a job. */
export const PAGE = 10_000;

export function jobPath(id: string): string {
  return `/pushy/jobs/${encodeURIComponent(id)}`;
}

/** The job and all its nodes. */
export async function readJob(api: Api, id: string, signal?: AbortSignal): Promise<Answer<LiveJob>> {
  const path = jobPath(id);
  const job = await api.get<Job>(path, { detail: true }, signal);
  const nodes: JobNode[] = [];
  let page = await api.get<readonly JobNode[]>(`${path}/nodes`, { limit: PAGE }, signal);
  nodes.push(...page.body);
  while (page.next !== null) {
    page = await api.page<readonly JobNode[]>(page.next, signal);
    nodes.push(...page.body);
  }
  return { body: liveJob(job.body, nodes), position: job.position, next: null };
}
