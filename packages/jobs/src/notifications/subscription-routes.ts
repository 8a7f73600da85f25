import { whilePresent } from '@muster/platform/auth';
import type { App } from '@muster/platform/http';
import { isOnlyLogged } from '@muster/platform/outbound';
import { Type } from 'typebox';
import { jobFor } from '../controller/access.js';
import { askerOf } from '../controller/asker.js';
import { readSubscription } from '../request/subscriptions.js';
import { type AdminDeps, IdParams } from '../routes/admin-deps.js';
import { audited } from '../routes/catalog.js';
import { SubscriptionBody } from '../routes/schemas.js';
import { Subscribing, type SubscribingDeps } from './subscribing.js';
import { allSubscriptions } from './subscriptions.js';
import { SubscriptionView, subscriptionView } from './view.js';

const tags = ['jobs'];
const NOTIFICATIONS = '/organizations/:org/job-notifications/:id';

const SubscribedAnswer = Type.Object({
  ...SubscriptionView.properties,
  only_logged: Type.Boolean({ description: 'Nothing is sent to it, as this server has no mail server' }),
});

export interface SubscriptionRouteDeps extends Pick<AdminDeps, 'auth'>, SubscribingDeps {
  readonly store: AdminDeps['store'];
  /** Whether there is a mail server. */
  readonly sendsMail: boolean;
}

/** Who is told of a job: those it was submitted with, and who subscribed since. */
export function subscriptionRoutes(app: App, deps: SubscriptionRouteDeps): void {
  const { read } = deps.store;
  const subscribing = new Subscribing(deps);
  const known = async (
    { caller, organization, params: { id } }: Parameters<typeof audited>[1] & Named,
    action: string,
  ) => {
    const asker = await askerOf(deps.auth, caller, organization);
    return (await jobFor(read, organization, asker, id, 'share', action)).job;
  };

  app.route({
    method: 'GET',
    url: `${NOTIFICATIONS}/subscriptions`,
    config: { permission: 'job:use' },
    schema: {
      tags,
      operationId: 'listJobSubscriptions',
      summary: 'Who is told of a job, oldest first',
      params: IdParams,
      response: { 200: Type.Array(SubscriptionView) },
    },
    handler: async (request) => {
      const job = await known(request, 'read the notifications of');
      return (await allSubscriptions(read, job.uuid)).map(subscriptionView);
    },
  });

  app.route({
    method: 'POST',
    url: NOTIFICATIONS,
    config: { permission: 'job:use', empowers: false },
    schema: {
      tags,
      operationId: 'subscribeToJob',
      summary: 'Have somebody told of a job that has not ended',
      params: IdParams,
      body: SubscriptionBody,
      response: { 201: SubscribedAnswer },
    },
    handler: async (request, reply) => {
      const subscription = readSubscription(request.body, '');
      const job = await known(request, 'have somebody told of');
      const also = audited(deps, request, 'job.subscribe', job.uuid);
      const row = await whilePresent(request.organization, subscribing.add(job, subscription, also));
      const only_logged = isOnlyLogged(row.url, deps.sendsMail);
      return reply.code(201).send({ ...subscriptionView(row), only_logged });
    },
  });

  app.route({
    method: 'DELETE',
    url: `${NOTIFICATIONS}/subscriptions/:subscription`,
    config: { permission: 'job:use', empowers: false },
    schema: {
      tags,
      operationId: 'unsubscribeFromJob',
      summary: 'Have somebody told of a job no more; what waits to be sent is not sent',
      params: Type.Object({ ...IdParams.properties, subscription: Type.String({ maxLength: 128 }) }),
      response: { 200: Type.Object({ id: Type.String() }) },
    },
    handler: async (request) => {
      const job = await known(request, 'have somebody told no more of');
      const { subscription: id } = request.params;
      const also = audited(deps, request, 'job.unsubscribe', job.uuid);
      await whilePresent(request.organization, subscribing.remove(job, id, also));
      return { id };
    },
  });
}

interface Named {
  readonly params: { readonly id: string };
}
