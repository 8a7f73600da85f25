import type { Recordable } from '@muster/platform/log';
import { TASK_EVENTS } from '../event-types.js';
import { queueSubject } from '../events.js';
import type { BulkRun, BulkState } from './types.js';

/** How far one is, and how it ended. */
export function bulkTold({ id, org, queueId, action, counted, owner }: BulkRun, state: BulkState): Recordable {
  const { status, reason, counts } = state;
  const about = { bulk: id, ...(queueId !== null && { queue: queueId }), action, state: status, by: owner.name };
  const data = { counted, matched: counts.matched, acted: counts.acted, reason };
  return TASK_EVENTS.tell('task.bulk', org, about, data, queueId === null ? null : queueSubject(queueId));
}
