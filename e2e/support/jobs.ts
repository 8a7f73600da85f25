import { existsSync, readFileSync } from 'node:fs';
import type { Cluster } from './cluster.js';
import { until } from './until.js';

/** What tests look at of a job. */
export interface Job {
  readonly id: string;
  readonly status: string;
  readonly appId: string;
  readonly systemId: string;
  readonly workPath: string;
  readonly archivePath: string;
}

export const showJob = (cluster: Cluster, id: string): Promise<Job> => cluster.json<Job>('job', 'show', id);

export const jobComesTo = (cluster: Cluster, id: string, status: string): Promise<unknown> =>
  until(`job ${id} to be ${status}`, async () => {
    const job = await showJob(cluster, id);
    if (job.status !== status) throw new Error(JSON.stringify(job));
    return true;
  });

/** How often a job has written its id into a file, a line each time. */
export function timesRun(file: string, id: string): number {
  const runs = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  return runs.filter((one) => one === id).length;
}
