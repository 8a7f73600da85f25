import type { AssignedTask, Json } from '@muster/wire';

/** A task as its plugin reads it: the document as it was when claimed, under Disbatch's names (sheet §3.4). */
export interface TaskDocument {
  readonly _id: string;
  /** Id of its queue. */
  readonly queue: string;
  /** Claimed. */
  readonly status: -1;
  readonly params: { readonly [name: string]: Json };
  /** Name of the node that runs it. */
  readonly node: string;
  /** When it was added, and when it was claimed. */
  readonly ctime: string;
  readonly mtime: string;
  readonly stdout: null;
  readonly stderr: null;
}

export function taskDocument(task: AssignedTask, node: string): TaskDocument {
  return {
    _id: task.id,
    queue: task.queue.id,
    status: -1,
    params: task.params,
    node,
    ctime: isoTime(task.ctime),
    mtime: isoTime(task.mtime),
    stdout: null,
    stderr: null,
  };
}

const FRACTION = /\.(\d+)Z$/;

/** ISO 8601 in UTC, the fraction without its trailing zeros: `2026-01-31T07:00:00Z`, `2026-01-31T07:00:00.25Z`. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString().replace(FRACTION, (_, digits: string) => {
    const trimmed = digits.replace(/0+$/, '');
    return trimmed === '' ? 'Z' : `.${trimmed}Z`;
  });
}
