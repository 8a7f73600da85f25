import type { OutputSource, SourceStanding } from '@muster/platform/output';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { taskSubject } from './events.js';
import { findAttempt, findTask } from './repository/reads.js';
import type { AttemptRow, TaskRow } from './repository/writes.js';
import { isActive, STATUS } from './status.js';

/** What one run of a task wrote. */
export function outputOfAttempt(taskId: string, attempt: number): OutputSource {
  return { subject: taskSubject(taskId), part: String(attempt) };
}

/** Undefined when there was no such run of the task. */
export async function outputStanding(
  read: Kysely<Schema>,
  orgId: string,
  taskId: string,
  attempt: number,
): Promise<SourceStanding | undefined> {
  const task = await findTask(read, orgId, taskId);
  if (task === undefined) return undefined;
  const past = await findAttempt(read, taskId, attempt);
  if (past !== undefined) return { ...standing(past), ended: true, running: false, missing: null };
  if (attempt !== task.attempt) return undefined;
  return {
    ...standing(task),
    ended: !isActive(task.status),
    running: task.status === STATUS.running,
    missing: task.complete === 0 ? 'its node was lost, or could not keep it' : null,
  };
}

function standing(row: AttemptRow | TaskRow): Pick<SourceStanding, 'captured' | 'written' | 'inline'> {
  return {
    captured: true,
    written: { stdout: row.stdout_bytes, stderr: row.stderr_bytes },
    inline: { stdout: bytesOf(row.stdout), stderr: bytesOf(row.stderr) },
  };
}

function bytesOf(text: string | null): Uint8Array | null {
  return text === null ? null : Buffer.from(text);
}
