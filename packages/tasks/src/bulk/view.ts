import { time, timeOrNull } from '../routes/view.js';
import type { BulkRun, BulkState } from './types.js';

/** As its routes show it. */
export function bulkView({ id, action, queueId, about, counted, owner, createdAt }: BulkRun, state: BulkState) {
  const { status, reason, counts, endedAt } = state;
  return {
    id,
    action,
    queue_id: queueId,
    where: about.selector,
    state: status,
    reason,
    by: owner.name,
    counted,
    matched: counts.matched,
    acted: counts.acted,
    refused: [...counts.refused],
    created_at: time(createdAt),
    ended_at: timeOrNull(endedAt),
  };
}

export type BulkView = ReturnType<typeof bulkView>;
