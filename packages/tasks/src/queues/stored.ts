import type { QueueRow } from '../repository/writes.js';
import type { Queue, QueueRules } from '../types.js';
import { DEFAULT_RULES } from './rules.js';

/** A queue as it is stored, and back. Rules that were not there when it was stored are as those of a new queue. */

export function queueRow(queue: Queue): QueueRow {
  return {
    id: queue.id,
    org_id: queue.orgId,
    name: queue.name,
    plugin: queue.plugin,
    threads: queue.threads,
    state: queue.state,
    rules: JSON.stringify(queue.rules),
    created_at: queue.createdAt,
    updated_at: queue.updatedAt,
  };
}

export function queueOf(row: QueueRow, outputLimit: number): Queue {
  return {
    id: row.id,
    orgId: row.org_id,
    name: row.name,
    plugin: row.plugin,
    threads: row.threads,
    state: row.state,
    rules: { ...DEFAULT_RULES, outputLimit, ...(JSON.parse(row.rules) as Partial<QueueRules>) },
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
