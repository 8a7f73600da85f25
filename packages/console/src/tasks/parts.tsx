import type { Queue } from '../live/queues.js';
import { type ListedTask, TASK_STATUSES } from '../live/tasks.js';
import { number } from '../parts/numbers.js';
import { Status } from '../parts/status.jsx';
import { TASK_LOOKS, taskLook } from '../statuses/tasks.js';

/** How the tasks of a queue stand, as shares of all. */
export function QueueBar({ queue: { counts } }: { readonly queue: Queue }) {
  const shown = TASK_STATUSES.filter((status) => counts[status] > 0);
  if (shown.length === 0) return <span class="quiet">none</span>;
  const text = shown.map((status) => `${number(counts[status])} ${TASK_LOOKS[status].word}`).join(', ');
  return (
    <div class="bar" role="img" aria-label={text} title={text}>
      {shown.map((status) => (
        <span
          key={status}
          class={TASK_LOOKS[status].tone === 'idle' ? 'pending' : TASK_LOOKS[status].tone}
          style={{ flex: String(counts[status]) }}
        />
      ))}
    </div>
  );
}

export function TaskStatus({
  task,
  badge = false,
}: {
  readonly task: Pick<ListedTask, 'cancelling' | 'status'>;
  readonly badge?: boolean;
}) {
  return <Status look={taskLook(task)} badge={badge} />;
}

/** `3 of 8`: on nodes, of so many at one time. */
export function threadsText({ counts, threads }: Pick<Queue, 'counts' | 'threads'>): string {
  const busy = number(counts.running + counts.claimed);
  return threads === null ? busy : `${busy} of ${number(threads)}`;
}

export function rateText(perMinute: number): string {
  return perMinute === 0 ? '–' : `${number(perMinute)}/min`;
}

/** The beginning of what a task was given, as it is told in one line. */
export function paramsText(params: Readonly<Record<string, unknown>>): string {
  return Object.entries(params)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('  ')
    .slice(0, 300);
}

/** Enough to tell tasks apart: when it was added, and which one of those of that second. */
export function shortTaskId(id: string): string {
  return `${id.slice(0, 8)}…${id.slice(-6)}`;
}
