import type { StoredDelivery } from '../outbound/deliveries.js';
import { isOnlyLogged } from '../outbound/mail.js';
import { type TrailState, trailView } from './trail.js';
import type { Notification } from './types.js';

const time = (ms: number): string => new Date(ms).toISOString();
const timeOrNull = (ms: number | null): string | null => (ms === null ? null : time(ms));

/** @param sendsMail Whether the server has a mail server. */
export function notificationView(one: Notification, trails: ReadonlyMap<string, TrailState>, sendsMail: boolean) {
  const trail = trails.get(one.id);
  return {
    name: one.name,
    follows: one.follows,
    on: one.follows === 'audit' ? null : one.selector,
    to: one.target,
    only_logged: isOnlyLogged(one.target, sendsMail),
    retries: one.policy.retryStrategy === 'NONE' ? 0 : one.policy.retryLimit,
    enabled: one.enabled,
    owner: { name: one.owner.name, kind: one.owner.type },
    skipped: one.skipped,
    trail: trail === undefined ? null : trailView(trail),
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
