import type { App } from '@muster/platform/http';
import { DeliveryAnswer, deliveriesAbout, deliveryView } from '@muster/platform/outbound';
import type { Store } from '@muster/store';
import { Type } from 'typebox';
import { jobFor } from '../controller/access.js';
import { askerOf } from '../controller/asker.js';
import { type AdminDeps, IdParams, PageQuery, pageOf } from '../routes/admin-deps.js';
import { deliverySubject } from './deliveries.js';
import type { SubscribingDeps } from './subscribing.js';
import { type SubscriptionRouteDeps, subscriptionRoutes } from './subscription-routes.js';

export interface NotificationRouteDeps extends AdminDeps, SubscribingDeps, Pick<SubscriptionRouteDeps, 'sendsMail'> {
  readonly store: Store;
}

const tags = ['jobs'];

/** What was told of a job to whom. */
export function notificationRoutes(app: App, deps: NotificationRouteDeps): void {
  const { read } = deps.store;
  subscriptionRoutes(app, deps);

  app.route({
    method: 'GET',
    url: '/organizations/:org/job-notifications/:id',
    config: { permission: 'job:use' },
    schema: {
      tags,
      operationId: 'listJobNotifications',
      summary: 'Notifications of a job: what was sent, or is to be, oldest first',
      params: IdParams,
      querystring: PageQuery,
      response: { 200: Type.Array(DeliveryAnswer) },
    },
    handler: async ({ caller, organization, params: { id }, query }) => {
      const asker = await askerOf(deps.auth, caller, organization);
      // Addresses of others may hold secrets.
      const { job } = await jobFor(read, organization, asker, id, 'share', 'read the notifications of');
      const { limit, offset } = pageOf(query);
      const page = { limit, offset, first: 'oldest' } as const;
      return (await deliveriesAbout(read, deliverySubject(job.uuid), page)).map(deliveryView);
    },
  });
}
