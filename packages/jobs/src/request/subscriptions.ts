import { DEFAULT_RETRIES, OUTBOUND_LIMITS, RETRY_STRATEGIES, type RetryPolicy } from '@muster/platform/outbound';
import { Reader } from '../definition/reader.js';
import { NOTIFICATION_LIMITS } from '../notifications/limits.js';
import { ADDRESS_VARIABLES } from '../notifications/template.js';
import { FOREIGN_STATUSES, STATUSES } from '../status.js';
import type { Subscription } from '../types.js';
import { echo, refused } from './refusal.js';

/** What may be told of a job besides its statuses (sheet §9.2). */
export const OTHER_EVENTS = [
  'CREATED',
  'UPDATED',
  'DELETED',
  'RESTORED',
  'PERMISSION_GRANT',
  'PERMISSION_REVOKE',
  'EMPTY_STATUS_RESPONSE',
  'REMOTE_STATUS_CHANGE',
  'UNKNOWN_TERMINATION',
] as const;

const EVENTS: ReadonlySet<string> = new Set(['*', ...STATUSES, ...FOREIGN_STATUSES, ...OTHER_EVENTS]);

const VARIABLES: ReadonlySet<string> = new Set(ADDRESS_VARIABLES);
const VARIABLE = /\$\{([^}]*)\}/g;
const ADDRESS = /^(?:mailto:)?[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,253}[A-Za-z0-9])?$/;

/** Those of a submission (sheet §1.2, §9.5). @throws MusterError `job_invalid`, `invalid_field` */
export function readSubscriptions(reader: Reader): readonly Subscription[] {
  return reader.list('notifications', NOTIFICATION_LIMITS.subscriptions, (value, path) =>
    readSubscription(value, path),
  );
}

/** @throws MusterError `job_invalid`, `invalid_field` */
export function readSubscription(value: unknown, path: string): Subscription {
  const reader = new Reader(value, path);
  const event = text(reader, 'event', NOTIFICATION_LIMITS.eventLength);
  if (!EVENTS.has(event)) {
    const field = reader.path('event');
    throw refused(
      'ALOE_INVALID_PARAMETER',
      field,
      `nothing is told as '${echo(event)}': a status, *, or such as CREATED`,
    );
  }
  const subscription = {
    event,
    url: readUrl(reader),
    persistent: reader.boolean('persistent', false),
    policy: readPolicy(reader.object('policy')),
  };
  reader.end();
  return subscription;
}

/** How often what is not delivered is sent again; what is left out is as usual (sheet §9.5). */
function readPolicy(reader: Reader): RetryPolicy {
  const { retries, retrySeconds } = OUTBOUND_LIMITS;
  const usual = DEFAULT_RETRIES;
  const policy = {
    retryStrategy: reader.oneOf('retryStrategy', RETRY_STRATEGIES, usual.retryStrategy),
    retryLimit: reader.integer('retryLimit', 0, retries) ?? usual.retryLimit,
    retryRate: reader.integer('retryRate', 0, retrySeconds) ?? usual.retryRate,
    retryDelay: reader.integer('retryDelay', 0, retrySeconds) ?? usual.retryDelay,
    saveOnFailure: reader.boolean('saveOnFailure', usual.saveOnFailure),
  };
  reader.end();
  return policy;
}

function readUrl(reader: Reader): string {
  const url = text(reader, 'url', OUTBOUND_LIMITS.urlLength);
  const field = reader.path('url');
  for (const [, name = ''] of url.matchAll(VARIABLE)) {
    if (!VARIABLES.has(name)) throw refused('ALOE_INVALID_PARAMETER', field, `there is no variable \${${echo(name)}}`);
  }
  const filled = url.replace(VARIABLE, 'x');
  if (ADDRESS.test(filled)) return url;
  const parsed = URL.canParse(filled) ? new URL(filled) : null;
  if (parsed?.protocol === 'http:' || parsed?.protocol === 'https:') return url;
  throw refused('ALOE_INVALID_PARAMETER', field, 'must be an http or https URL, or an e-mail address');
}

function text(reader: Reader, name: string, most: number): string {
  const field = reader.path(name);
  const value = reader.value(name);
  if (value === undefined) throw refused('ALOE_NULL_PARAMETER', field, 'it is missing');
  if (typeof value === 'string' && value.length > most) {
    throw refused('ALOE_INVALID_PARAMETER_LEN', field, `must have at most ${most} characters, not ${value.length}`);
  }
  return reader.text(name, { most });
}
