import { addDelivery, readRetries, type StoredDelivery } from '@muster/platform/outbound';
import type { Write } from '@muster/store';
import type { Job } from '../types.js';
import { webhookBody } from './body.js';
import { type StoredSubscription, subscriptionStatus } from './subscriptions.js';
import { resolveAddress } from './template.js';

/** Names of events that mean the same, as clients of different times know them (sheet §9.2). */
const ALSO: Readonly<Record<string, string>> = { ACCEPTED: 'CREATED' };

const SUBJECT = 'job/';

/** What deliveries of a job are about. */
export function deliverySubject(uuid: string): string {
  return `${SUBJECT}${uuid}`;
}

/**
 * What is stored with an event of a job: one delivery for each subscription that it concerns. One that is not persistent has
 * had its event then.
 * @param job As it is now. @param entry Id of the event in the history of the job: one event is delivered once.
 */
export function deliveriesOf(
  subscriptions: readonly StoredSubscription[],
  job: Job,
  event: string,
  entry: string,
  now: number,
): Write[] {
  const concerned = subscriptions.filter((subscription) => concerns(subscription, event));
  if (concerned.length === 0) return [];
  const body = JSON.stringify(webhookBody(job));
  const about = { subject: deliverySubject(job.uuid), orgId: job.orgId, event, body };
  const title = `Job ${job.name} is ${event}`;
  return concerned.flatMap(({ id, url, policy, persistent }) => [
    addDelivery(
      {
        ...about,
        id: `${id}.${entry}`,
        subscription: id,
        url: resolveAddress(url, job, event),
        title,
        policy: readRetries(JSON.parse(policy)),
        only: persistent === 0,
      },
      now,
    ),
    ...(persistent === 1 ? [] : [subscriptionStatus(id, 'COMPLETE')]),
  ]);
}

function concerns(subscription: StoredSubscription, event: string): boolean {
  const wanted = subscription.event.toUpperCase();
  return subscription.status === 'ACTIVE' && (wanted === '*' || wanted === event || wanted === ALSO[event]);
}

/** What is stored besides when the only delivery of a subscription to a job is given up; nothing for that of others. */
export function gaveUp({ subject, subscription }: Pick<StoredDelivery, 'subject' | 'subscription'>): readonly Write[] {
  return subject.startsWith(SUBJECT) ? [subscriptionStatus(subscription, 'FAILED')] : [];
}
