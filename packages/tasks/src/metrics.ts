import type { Metrics } from '@muster/platform/metrics';
import type { LiveQueue } from './queues/live-queue.js';
import { isEnded, STATUS, STATUS_NAMES, type StatusName } from './status.js';

/** The series of queues and tasks. Answers how an end is counted. */
export function createTaskMetrics(
  metrics: Metrics,
  queues: () => Iterable<Pick<LiveQueue, 'counts'>>,
): (status: StatusName) => void {
  const unfinished = STATUS_NAMES.filter((name) => !isEnded(STATUS[name]));
  metrics.gauge('muster_tasks', 'Tasks that have not ended', ['status'], (gauge) => {
    for (const status of unfinished) gauge.set({ status }, 0);
    for (const { counts } of queues()) for (const status of unfinished) gauge.inc({ status }, counts[status]);
  });
  const ended = metrics.counter('muster_tasks_ended_total', 'Tasks that ended', ['status']);
  for (const status of STATUS_NAMES) if (isEnded(STATUS[status])) ended.inc({ status }, 0);
  return (status) => ended.inc({ status });
}
