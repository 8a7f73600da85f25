import type { QueueView, TaskProgress } from '../ports.js';
import type { ListedTask } from '../repository/reads.js';
import type { AttemptRow, TaskRow } from '../repository/writes.js';
import { priorityOf, type SearchedQueue } from '../search/attributes.js';
import { statusName } from '../status.js';
import type { TaskOptions } from '../types.js';

export function time(ms: number): string {
  return new Date(ms).toISOString();
}

export const timeOrNull = (ms: number | null): string | null => (ms === null ? null : time(ms));

/**
 * A queue as its routes show it.
 * @param oldestWaiting When the task was added that has waited longest.
 */
export function queueView(queue: QueueView, oldestWaiting: number | undefined) {
  const { rules } = queue;
  return {
    id: queue.id,
    name: queue.name,
    plugin: queue.plugin,
    threads: queue.threads,
    state: queue.state,
    sort: rules.sort,
    nodes: rules.nodes,
    ignore_nodes: rules.ignoreNodes,
    weight: rules.weight,
    key: rules.key,
    rate: rules.rate,
    retry: rules.retry,
    orphan_retries: rules.orphanRetries,
    timeout: rules.timeout,
    output_limit: rules.outputLimit,
    keep: rules.keep,
    secrets: rules.secrets && { ...rules.secrets.named },
    writers: [...rules.writers],
    readers: [...rules.readers],
    created_at: time(queue.createdAt),
    updated_at: time(queue.updatedAt),
    counts: { ...queue.counts },
    ended_last_minute: queue.endedLastMinute,
    oldest_waiting: timeOrNull(oldestWaiting ?? null),
    why: [...queue.why],
  };
}

/** A task of a list. */
export function taskView(row: ListedTask, queue: SearchedQueue | undefined) {
  return {
    id: row.id,
    queue: queue?.name ?? null,
    queue_id: row.queue_id,
    plugin: queue?.plugin ?? null,
    params: JSON.parse(row.params) as Readonly<Record<string, unknown>>,
    status: statusName(row.status),
    code: row.status,
    node: row.node,
    attempt: row.attempt,
    failures: row.failures,
    orphanings: row.orphanings,
    priority: priorityOf(row),
    key: row.lane === '' ? null : row.lane,
    requester: row.requester,
    reason: row.reason,
    cancelling: row.cancelling !== 0,
    waits_for: row.waits_for,
    not_before: timeOrNull(row.not_before),
    expires_at: timeOrNull(row.expires_at),
    ctime: time(row.ctime),
    mtime: time(row.mtime),
    started: timeOrNull(row.started_at),
    ended: timeOrNull(row.ended_at),
    exit_code: row.exit_code,
    signal: row.signal,
    complete: row.complete === null ? null : row.complete !== 0,
  };
}

export interface TaskDetail {
  readonly after: readonly string[];
  readonly progress: TaskProgress | null;
  readonly why: readonly string[];
}

/** A single task. */
export function taskDetail(row: ListedTask, queue: SearchedQueue | undefined, { after, progress, why }: TaskDetail) {
  const options = row.options === null ? {} : (JSON.parse(row.options) as Partial<TaskOptions>);
  const { secrets, ...others } = options;
  const shown = { ...others, ...(secrets && { secrets: secrets.named }) };
  return { ...taskView(row, queue), options: shown, after: [...after], progress, why: [...why] };
}

/** A run that is over while its task went on, or the latest one, which stands in the task itself. */
export function attemptView(attempt: AttemptRow | (TaskRow & { readonly task_id: string })) {
  return {
    attempt: attempt.attempt,
    node: attempt.node,
    status: statusName(attempt.status),
    code: attempt.status,
    reason: attempt.reason,
    started: timeOrNull(attempt.started_at),
    ended: timeOrNull(attempt.ended_at),
    exit_code: attempt.exit_code,
    signal: attempt.signal,
  };
}
