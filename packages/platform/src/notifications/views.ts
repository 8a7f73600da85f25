import { isOnlyLogged } from '../outbound/mail.js';
import { type TrailState, trailView } from './trail.js';
import type { Notification } from './types.js';

const time = (ms: number): string => new Date(ms).toISOString();

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
