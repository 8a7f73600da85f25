import type { StoredDelivery } from '../outbound/deliveries.js';
import type { Notification } from './types.js';

const time = (ms: number): string => new Date(ms).toISOString();
const timeOrNull = (ms: number | null): string | null => (ms === null ? null : time(ms));

export function notificationView(one: Notification) {
  return {
    name: one.name,
    on: one.selector,
    to: one.target,
    retries: one.policy.retryStrategy === 'NONE' ? 0 : one.policy.retryLimit,
    enabled: one.enabled,
    owner: { name: one.owner.name, kind: one.owner.type },
    skipped: one.skipped,
    created_at: time(one.createdAt),
    updated_at: time(one.updatedAt),
  };
}

export function deliveryView(row: StoredDelivery) {
  return {
    id: row.id,
    event: row.event,
    url: row.url,
    outcome: row.outcome,
    attempts: row.attempts,
    response_code: row.response_code,
    detail: row.detail,
    created: time(row.created),
    last_sent: timeOrNull(row.last_sent),
    next_attempt: timeOrNull(row.next_attempt),
  };
}
