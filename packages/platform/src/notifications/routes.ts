import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { Type } from 'typebox';
import type { Audit } from '../auth/audit.js';
import { actorOf } from '../auth/types.js';
import { Nothing } from '../directory/schemas.js';
import type { App } from '../http/route.js';
import { deliveriesAbout } from '../outbound/deliveries.js';
import { isOnlyLogged } from '../outbound/mail.js';
import { webhookKey, webhookSecret } from '../outbound/signature.js';
import { DeliveryAnswer, deliveryView } from '../outbound/view.js';
import { deliverySubject, type NotificationDirectory } from './directory.js';
import { NOTIFICATION_LIMITS } from './limits.js';
import { readFields, readNew } from './request.js';
import * as schemas from './schemas.js';
import { trailsOf } from './trail.js';
import type { Notification } from './types.js';
import { notificationView } from './views.js';

export interface NotificationRouteDeps {
  readonly read: Kysely<Schema>;
  readonly directory: NotificationDirectory;
  readonly audit: Pick<Audit, 'looked'>;
  /** Sends its target something to try it. Answers the id of the delivery. */
  readonly test: (notification: Notification) => Promise<string>;
  readonly privateTargets: boolean;
  /** Whether the server has a mail server. */
  readonly sendsMail: boolean;
  /** What the keys are made of with which webhooks are signed. */
  readonly masterKey: Uint8Array;
}

const tags = ['notifications'];
const NOTIFICATIONS = '/organizations/:org/notifications';
const RIGHTS =
  'It follows events, or the audit, with the rights of whoever changed it last, as they are when something is to be told.';

/** Notifications: make, list, look at, change, try, delete; and what came of them. */
export function notificationRoutes(app: App, deps: NotificationRouteDeps): void {
  const { read, directory, audit, test, privateTargets, sendsMail, masterKey } = deps;
  const shown = async (one: Notification) => notificationView(one, await trailsOf(read, [one]), sendsMail);

  app.post(
    NOTIFICATIONS,
    {
      // It goes on when the token with which it was made is long gone.
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags,
        operationId: 'createNotification',
        summary: 'Tell a webhook or a mail address of events, or a webhook of the audit',
        description: RIGHTS,
        params: schemas.OrgParams,
        body: schemas.NewBody,
        response: { 201: schemas.Answer },
      },
    },
    async ({ organization, caller, body }, reply) => {
      const asked = readNew(body, privateTargets);
      const made = await directory.create(organization, body.name, asked, caller, actorOf(caller));
      return reply.code(201).send(await shown(made));
    },
  );

  app.get(
    NOTIFICATIONS,
    {
      config: { permission: 'org:admin' },
      schema: {
        tags,
        operationId: 'listNotifications',
        summary: 'Whom events or the audit are told, by name',
        params: schemas.OrgParams,
        response: { 200: Type.Array(schemas.Answer) },
      },
    },
    async ({ organization }) => {
      const notifications = await directory.list(organization);
      const trails = await trailsOf(read, notifications);
      return notifications.map((one) => notificationView(one, trails, sendsMail));
    },
  );

  app.get(
    `${NOTIFICATIONS}/:name`,
    {
      config: { permission: 'org:admin' },
      schema: {
        tags,
        operationId: 'getNotification',
        summary: 'One notification',
        params: schemas.Params,
        response: { 200: schemas.Answer },
      },
    },
    async ({ organization, params }) => shown(await directory.existing(organization, params.name)),
  );

  app.patch(
    `${NOTIFICATIONS}/:name`,
    {
      config: { permission: 'org:admin', empowers: true },
      schema: {
        tags,
        operationId: 'changeNotification',
        summary: 'Change which events are told, or to whom',
        description: RIGHTS,
        params: schemas.Params,
        body: schemas.ChangesBody,
        response: { 200: schemas.Answer },
      },
    },
    async ({ organization, caller, params, body }) => {
      const before = await directory.existing(organization, params.name);
      const asked = readFields(body, before.follows, privateTargets);
      return shown(await directory.change(before, asked, caller, actorOf(caller)));
    },
  );

  app.delete(
    `${NOTIFICATIONS}/:name`,
    {
      config: { permission: 'org:admin', empowers: false },
      schema: {
        tags,
        operationId: 'deleteNotification',
        summary: 'Tell no more; what waits to be sent is not sent',
        params: schemas.Params,
        response: Nothing,
      },
    },
    async ({ organization, caller, params }, reply) => {
      await directory.remove(await directory.existing(organization, params.name), actorOf(caller));
      return reply.code(204).send(null);
    },
  );

  app.post(
    `${NOTIFICATIONS}/:name/test`,
    {
      config: { permission: 'org:admin', empowers: false },
      schema: {
        tags,
        operationId: 'testNotification',
        summary: 'Send its target an event of type muster.test',
        params: schemas.Params,
        response: { 202: schemas.TestAnswer },
      },
    },
    async ({ organization, params }, reply) => {
      const notification = await directory.existing(organization, params.name);
      const id = await test(notification);
      return reply.code(202).send({ id, only_logged: isOnlyLogged(notification.target, sendsMail) });
    },
  );

  app.get(
    `${NOTIFICATIONS}/:name/deliveries`,
    {
      config: { permission: 'org:admin' },
      schema: {
        tags,
        operationId: 'listNotificationDeliveries',
        summary: 'What was sent for a notification, or is to be, newest first',
        description: `What was delivered, logged or given up is kept for ${NOTIFICATION_LIMITS.keepMs / 86_400_000} days.`,
        params: schemas.Params,
        querystring: schemas.PageQuery,
        response: { 200: Type.Array(DeliveryAnswer) },
      },
    },
    async ({ organization, params, query }) => {
      const { id } = await directory.existing(organization, params.name);
      const { limit = NOTIFICATION_LIMITS.page, offset = 0 } = query;
      const page = { limit, offset, first: 'newest' } as const;
      return (await deliveriesAbout(read, deliverySubject(id), page)).map(deliveryView);
    },
  );

  app.get(
    '/organizations/:org/webhook-secret',
    {
      config: { permission: 'org:admin' },
      schema: {
        tags,
        operationId: 'getWebhookSecret',
        summary: 'With what receivers check the signature of webhooks (Standard Webhooks), those of jobs among them',
        params: schemas.OrgParams,
        response: { 200: schemas.SecretAnswer },
      },
    },
    async ({ organization, caller }) => {
      audit.looked({
        orgId: organization.id,
        actor: actorOf(caller),
        action: 'webhook_secret.read',
        target: 'webhooks',
      });
      return { secret: webhookSecret(webhookKey(masterKey, organization.id)) };
    },
  );
}
