import { addDelivery, readRetries, type StoredDelivery } from '@muster/platform/outbound';
import type { Write } from '@muster/store';
import type { Status } from '../status.js';
import { type Job, UNKNOWN_END } from '../types.js';
import { webhookBody } from './body.js';
import { type StoredSubscription, subscriptionStatus } from './subscriptions.js';
import { resolveAddress } from './template.js';

/** Of these, all that happen at one moment, a subscription is told once: the first that it names, or the first of all. */
export type Events = readonly [string, ...string[]];

/**
 * What happens to a job that comes to its status: that, and what else clients of Agave's time know it by (sheet §9.2).
 * @param from null: it is new. @param job As it is now.
 */
export function eventsOf(from: Status | null, job: Job): Events {
  const { status, condition, remoteCondition, exitCode } = job;
  if (from === null) return [status, 'CREATED'];
  const watched = from === 'QUEUED' || from === 'RUNNING';
  if (from === 'QUEUED' && status === 'RUNNING') return [status, 'REMOTE_STATUS_CHANGE'];
  if (watched && status === 'CLEANING_UP') {
    const unknown = exitCode === null && remoteCondition === null;
    return unknown ? [status, 'UNKNOWN_TERMINATION', 'REMOTE_STATUS_CHANGE'] : [status, 'REMOTE_STATUS_CHANGE'];
  }
  if (watched && status === 'FAILED' && condition === UNKNOWN_END) return [status, 'UNKNOWN_TERMINATION'];
  return [status];
}

const SUBJECT = 'job/';

/** What deliveries of a job are about. */
export function deliverySubject(uuid: string): string {
  return `${SUBJECT}${uuid}`;
}

/**
 * What is stored with an event of a job: one delivery for each subscription that it concerns. One that is not persistent has
 * had its event then.
 * @param job As it is now. @param entry Id of the events in the history of the job: they are delivered once.
 */
export function deliveriesOf(
  subscriptions: readonly StoredSubscription[],
  job: Job,
  events: Events,
  entry: string,
  now: number,
): Write[] {
  const concerned = subscriptions.flatMap((subscription) => {
    const event = eventFor(subscription, events);
    return event === undefined ? [] : [{ ...subscription, event }];
  });
  if (concerned.length === 0) return [];
  const body = JSON.stringify(webhookBody(job));
  const about = { subject: deliverySubject(job.uuid), orgId: job.orgId, body };
  return concerned.flatMap(({ id, event, url, policy, persistent }) => [
    addDelivery(
      {
        ...about,
        id: `${id}.${entry}`,
        event,
        subscription: id,
        url: resolveAddress(url, job, event),
        title: `Job ${job.name} is ${event}`,
        policy: readRetries(JSON.parse(policy)),
        only: persistent === 0,
      },
      now,
    ),
    ...(persistent === 1 ? [] : [subscriptionStatus(id, 'COMPLETE')]),
  ]);
}

/** undefined: none of them concerns it. */
function eventFor(subscription: StoredSubscription, events: Events): string | undefined {
  if (subscription.status !== 'ACTIVE') return undefined;
  const wanted = subscription.event.toUpperCase();
  return wanted === '*' ? events[0] : events.find((event) => event === wanted);
}

/** What is stored besides when the only delivery of a subscription to a job is given up; nothing for that of others. */
export function gaveUp({ subject, subscription }: Pick<StoredDelivery, 'subject' | 'subscription'>): readonly Write[] {
  return subject.startsWith(SUBJECT) ? [subscriptionStatus(subscription, 'FAILED')] : [];
}
