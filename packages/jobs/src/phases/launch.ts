import { posix } from 'node:path';
import { slug } from '../request/slug.js';
import type { Launch, System } from '../systems/types.js';
import { WRAPPER_FILES } from '../systems/wrapper.js';
import type { Job } from '../types.js';

/** Where what a program prints is, in its work directory (sheet §1.5). */
export function outputNames({ name, uuid }: Pick<Job, 'name' | 'uuid'>): { stdout: string; stderr: string } {
  const short = slug(name);
  const stem = short === '' ? uuid : `${short}-${uuid}`;
  return { stdout: `${stem}.out`, stderr: `${stem}.err` };
}

/** What a scheduler is asked to run for a job. */
export function launchOf(job: Job, workDirectory: string, { queues }: Pick<System, 'queues'>): Launch {
  return {
    uuid: job.uuid,
    name: slug(job.name) || job.uuid,
    workDirectory,
    script: posix.join(workDirectory, WRAPPER_FILES.wrapper),
    ...outputNames(job),
    queue: queues.find(({ name }) => name === job.remoteQueue) ?? null,
    nodeCount: job.nodeCount,
    processorsPerNode: job.processorsPerNode,
    memoryMb: job.memoryMb,
    maxSeconds: job.maxSeconds,
  };
}
