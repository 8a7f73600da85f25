import { readRetries } from '@muster/platform/outbound';
import { type Static, Type } from 'typebox';
import { RetryPolicyFields } from '../routes/schemas.js';
import type { StoredSubscription } from './subscriptions.js';

/** A subscription to a job, as people see it (sheet §9.5). */
export const SubscriptionView = Type.Object({
  id: Type.String(),
  event: Type.String(),
  url: Type.String(),
  persistent: Type.Boolean(),
  policy: Type.Object(RetryPolicyFields),
  status: Type.String({ description: 'ACTIVE, COMPLETE, FAILED or INACTIVE' }),
  created: Type.String(),
});

export function subscriptionView(row: StoredSubscription): Static<typeof SubscriptionView> {
  const { id, event, url, persistent, policy, status, created } = row;
  return {
    id,
    event,
    url,
    persistent: persistent === 1,
    policy: readRetries(JSON.parse(policy)),
    status,
    created: new Date(created).toISOString(),
  };
}
