import { readRetries } from '@muster/platform/outbound';
import { insert, type Schema, update, type Write } from '@muster/store';
import type { Kysely, Selectable } from 'kysely';
import '../repository/tables.js';
import type { Job, Subscription } from '../types.js';
import { NOTIFICATION_LIMITS } from './limits.js';

/** As it is stored. */
export type StoredSubscription = Selectable<Schema['job_notifications']>;

const COLUMNS = {
  id: 'text',
  uuid: 'text',
  org_id: 'text',
  event: 'text',
  url: 'text',
  persistent: 'integer',
  policy: 'text',
  status: 'text',
  created: 'integer',
} as const;

const addSubscription = insert('job_notifications', COLUMNS, ['id']);
const changeStatus = update('job_notifications', { id: 'text', status: 'text' }, ['id']);
const count = update('jobs', { uuid: 'text', subscriptions: 'integer' }, ['uuid']);

/**
 * The subscriptions that a job was sent with. Their ids follow from the job, so that whoever stores the job first, the front or a
 * worker, stores the same.
 */
export function subscriptionsOf(job: Pick<Job, 'uuid' | 'orgId' | 'request' | 'accepted'>): StoredSubscription[] {
  return readSubscriptions(job.request).map((subscription, index) =>
    stored(job, subscription, index + 1, job.accepted),
  );
}

/** What is stored when somebody subscribes to a job later. @param job As it was read. */
export function subscribeRows(
  job: Pick<Job, 'uuid' | 'orgId' | 'subscriptions'>,
  subscription: Subscription,
  now: number,
): { readonly row: StoredSubscription; readonly writes: readonly Write[] } {
  const next = job.subscriptions + 1;
  const row = stored(job, subscription, next, now);
  return { row, writes: [addSubscription(row), count({ uuid: job.uuid, subscriptions: next })] };
}

export function subscriptionWrite(row: StoredSubscription): Write {
  return addSubscription(row);
}

export function subscriptionStatus(id: string, status: StoredSubscription['status']): Write {
  return changeStatus({ id, status });
}

/** All that there ever were to a job, in the order in which they were made. */
export function allSubscriptions(read: Kysely<Schema>, uuid: string): Promise<StoredSubscription[]> {
  const rows = read.selectFrom('job_notifications').selectAll().where('uuid', '=', uuid);
  return rows.orderBy('created').orderBy('id').execute();
}

/** Those that may still be told of something, in the order in which they were made. */
export function activeSubscriptions(read: Kysely<Schema>, uuid: string): Promise<StoredSubscription[]> {
  return read
    .selectFrom('job_notifications')
    .selectAll()
    .where('uuid', '=', uuid)
    .where('status', '=', 'ACTIVE')
    .orderBy('id')
    .execute();
}

function stored(
  { uuid, orgId }: Pick<Job, 'uuid' | 'orgId'>,
  { event, url, persistent, policy }: Subscription,
  number: number,
  now: number,
): StoredSubscription {
  return {
    // The ending says what it is of (sheet §0.4).
    id: `${uuid.replace(/-007$/, '')}-${number}-011`,
    uuid,
    org_id: orgId,
    event,
    url,
    persistent: Number(persistent),
    policy: JSON.stringify(readRetries(policy)),
    status: 'ACTIVE',
    created: now,
  };
}

/** Of the body that was sent. It was checked when it came. */
function readSubscriptions(request: string): readonly Subscription[] {
  const { notifications } = parsed(request);
  if (!Array.isArray(notifications)) return [];
  return notifications.slice(0, NOTIFICATION_LIMITS.subscriptions).flatMap((given) => {
    const { event, url, persistent, policy } = (given ?? {}) as Readonly<Record<string, unknown>>;
    if (typeof event !== 'string' || typeof url !== 'string') return [];
    return [{ event, url, persistent: persistent === true, policy: readRetries(policy) }];
  });
}

function parsed(request: string): { readonly notifications?: unknown } {
  try {
    return JSON.parse(request) ?? {};
  } catch {
    return {};
  }
}
