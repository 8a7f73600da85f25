import { randomUUID } from 'node:crypto';
import { Leases } from '@muster/store';
import type { Auth } from '../auth/auth.js';
import { Followers } from '../events/access.js';
import { EventWatch } from '../events/watch.js';
import type { App } from '../http/route.js';
import type { Base, Layer } from '../layers/layer.js';
import type { EventFamily } from '../log/own-events.js';
import { Deliverer, type DelivererDeps } from '../outbound/deliverer.js';
import { DELIVERIES_HINT } from '../outbound/deliveries.js';
import { openMailer } from '../outbound/mail.js';
import { enabledNotifications, NotificationDirectory } from './directory.js';
import { DeliveryRetention } from './retention.js';
import { notificationRoutes } from './routes.js';
import { storeTold } from './telling.js';
import { tellTest, testId } from './told.js';
import { AuditTrails } from './trails.js';
import type { Notification } from './types.js';

export interface NotificationsDeps {
  readonly auth: Auth;
  /** What the layers of this process tell. */
  readonly families: readonly EventFamily[];
  /** What the keys are made of with which webhooks are signed. */
  readonly masterKey: Uint8Array;
  /** Where the server is reached, without a slash at the end. */
  readonly baseUrl: () => string;
  /** What is stored besides when the only delivery of a subscription is given up. */
  readonly gaveUp: DelivererDeps['gaveUp'];
}

export interface Notifications extends Required<Pick<Layer, 'start' | 'stop'>> {
  routes(app: App): void;
}

/** Tells others of events and of the audit: looks at each for whom it is, and sends what is to be sent, that of jobs too. */
export function createNotifications(base: Base, deps: NotificationsDeps): Notifications {
  const { store, recorder, clock, logger: log, config, incarnation } = base;
  const { auth, families, masterKey, baseUrl, gaveUp } = deps;
  const { private_targets: privateTargets, smtp_url: url, mail_from: from } = config.outbound;
  const leases = new Leases({ store, clock, holder: incarnation });
  const mailer = openMailer({ ...(url !== undefined && { url }), from, log });
  const deliverer = new Deliverer({ store, leases, clock, log, mailer, masterKey, baseUrl, privateTargets, gaveUp });
  const watch = new EventWatch<Notification>({
    name: 'notifications',
    store,
    leases,
    clock,
    log,
    recorder,
    repository: auth.repository,
    followers: new Followers(auth.rights, families),
    maxSize: config.events.max_size,
    choosers: () => enabledNotifications(store.read),
    act: (chosen, stamp) => storeTold({ store, clock }, chosen, stamp),
  });
  const retention = new DeliveryRetention({
    store,
    clock,
    failed: (error) => log.warn({ err: error }, 'old deliveries could not be deleted'),
  });
  const trails = new AuditTrails({ store, leases, clock, log, auth, masterKey, privateTargets });
  const directory = new NotificationDirectory({ store, changes: auth.changes, last: () => recorder.last });
  const parts = [deliverer, watch, trails, retention];
  return {
    routes(app) {
      const test = async (notification: Notification): Promise<string> => {
        const id = randomUUID();
        await store.commit([tellTest(notification, id, clock.now())]);
        store.hints.send(DELIVERIES_HINT, '');
        return testId(notification, id);
      };
      const { read } = store;
      const sendsMail = url !== undefined;
      notificationRoutes(app, { read, directory, audit: auth.audit, test, privateTargets, sendsMail, masterKey });
    },
    start() {
      for (const part of parts) part.start();
    },
    async stop() {
      await Promise.all(parts.map((part) => part.stop()));
      mailer.close();
    },
  };
}
