import type { App } from '@muster/platform/http';
import { deliveriesAbout } from '@muster/platform/outbound';
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
const Time = Type.Union([Type.String(), Type.Null()]);

const Delivery = Type.Object({
  id: Type.String(),
  event: Type.String(),
  url: Type.String(),
  outcome: Type.Union([
    Type.Literal('waiting'),
    Type.Literal('delivered'),
    Type.Literal('logged'),
    Type.Literal('given_up'),
  ]),
  attempts: Type.Integer(),
  response_code: Type.Union([Type.Integer(), Type.Null()]),
  detail: Time,
  created: Type.String(),
  last_sent: Time,
  next_attempt: Time,
});

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
      response: { 200: Type.Array(Delivery) },
    },
    handler: async ({ caller, organization, params: { id }, query }) => {
      const asker = await askerOf(deps.auth, caller, organization);
      // Addresses of others may hold secrets.
      const { job } = await jobFor(read, organization, asker, id, 'share', 'read the notifications of');
      const { limit, offset } = pageOf(query);
      const rows = await deliveriesAbout(read, deliverySubject(job.uuid), { limit, offset });
      return rows.map((row) => ({
        id: row.id,
        event: row.event,
        url: row.url,
        outcome: row.outcome,
        attempts: row.attempts,
        response_code: row.response_code,
        detail: row.detail,
        created: new Date(row.created).toISOString(),
        last_sent: time(row.last_sent),
        next_attempt: time(row.next_attempt),
      }));
    },
  });
}

function time(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
