import { subjectOf } from '@muster/platform/feeds';
import type { OutputSource, SourceStanding } from '@muster/platform/output';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { PUSH_FEED } from './events.js';
import { isFinal } from './machine/job-node.js';
import { findJobNode } from './repository/reads.js';
import type { PushJobNodeStatus } from './types.js';

/** What the command of a job wrote on a node. */
export function outputOf(jobId: string, node: string): OutputSource {
  return { subject: subjectOf(PUSH_FEED, jobId), part: node };
}

/** Undefined when the node is not part of the job. */
export async function outputStanding(
  read: Kysely<Schema>,
  job: { readonly id: string; readonly capture: boolean },
  node: string,
): Promise<SourceStanding | undefined> {
  // PostgreSQL takes no NUL, and no node has one in its name.
  const row = node.includes('\0') ? undefined : await findJobNode(read, job.id, node);
  if (row === undefined) return undefined;
  return {
    ended: isFinal(row.status as PushJobNodeStatus),
    captured: job.capture,
    running: row.status === 'running',
    written: { stdout: row.stdout_bytes, stderr: row.stderr_bytes },
    missing: row.output_missing,
  };
}
