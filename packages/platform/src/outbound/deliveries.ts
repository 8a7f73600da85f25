import { deleteSome, insert, type Schema, update, type Write } from '@muster/store';
import type { Kysely, Selectable, Transaction } from 'kysely';
import '../schema/tables.js';
import type { RetryPolicy } from './retries.js';

/** What was sent to whom, or is to be sent, as it is stored. */
export type StoredDelivery = Selectable<Schema['deliveries']>;

/** Topic of the hint that there is something to deliver. */
export const DELIVERIES_HINT = 'deliveries';

/** Stands for where the server is reached, which others than servers do not know: filled in when it is sent. */
export const BASE_URL = '${' + 'BASE_URL}';

const addRow = insert(
  'deliveries',
  {
    id: 'text',
    subscription: 'text',
    subject: 'text',
    org_id: 'text',
    event: 'text',
    url: 'text',
    title: 'text',
    body: 'text',
    policy: 'text',
    only: 'integer',
    attempts: 'integer',
    next_attempt: 'integer',
    response_code: 'integer',
    outcome: 'text',
    detail: 'text',
    created: 'integer',
    last_sent: 'integer',
  },
  ['id'],
);

export interface NewDelivery {
  /** Stored once: what would be stored again with the same id is dropped. */
  readonly id: string;
  /** Whoever subscribed: gets one at a time, in their order. */
  readonly subscription: string;
  /** What it tells of, or who is told, such as `job/ID`. */
  readonly subject: string;
  readonly orgId: string;
  readonly event: string;
  /** A web address, or one of mail. May have `BASE_URL` in it. */
  readonly url: string;
  /** The subject of a mail. */
  readonly title: string;
  /** JSON. */
  readonly body: string;
  readonly policy: RetryPolicy;
  /** Its subscription gets no other: whether it came is how the subscription ended. */
  readonly only: boolean;
}

/** What stores that something is to be sent. Whoever stores it sends the hint afterwards. */
export function addDelivery({ orgId, policy, only, ...delivery }: NewDelivery, now: number): Write {
  return addRow({
    ...delivery,
    org_id: orgId,
    policy: JSON.stringify(policy),
    only: only ? 1 : 0,
    attempts: 0,
    next_attempt: now,
    response_code: null,
    outcome: 'waiting',
    detail: null,
    created: now,
    last_sent: null,
  });
}

export const settleDelivery = update(
  'deliveries',
  {
    id: 'text',
    attempts: 'integer',
    next_attempt: 'integer',
    response_code: 'integer',
    outcome: 'text',
    detail: 'text',
    last_sent: 'integer',
  },
  ['id'],
);

/** What waits to be sent to a subscription is not sent any more. */
export async function withdrawDeliveries(trx: Transaction<Schema>, subscription: string): Promise<void> {
  const waiting = trx.deleteFrom('deliveries').where('subscription', '=', subscription);
  await waiting.where('outcome', '=', 'waiting').execute();
}

/** Deletes what was sent, or is to be, about these; at most so many. True when none is left. */
export function clearDeliveries(trx: Transaction<Schema>, subjects: readonly string[], most: number): Promise<boolean> {
  return deleteSome(trx, { table: 'deliveries', key: ['id'], where: ['subject', subjects], most });
}

export interface DeliveryPage {
  readonly limit: number;
  readonly offset: number;
  readonly first: 'oldest' | 'newest';
}

export function deliveriesAbout(
  read: Kysely<Schema>,
  subject: string,
  { limit, offset, first }: DeliveryPage,
): Promise<StoredDelivery[]> {
  const order = first === 'oldest' ? 'asc' : 'desc';
  const rows = read.selectFrom('deliveries').selectAll().where('subject', '=', subject);
  return rows.orderBy('created', order).orderBy('id', order).limit(limit).offset(offset).execute();
}
