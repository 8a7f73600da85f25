import type { Clock } from '@muster/base';
import type { Broker } from '@muster/broker';
import type { Auth, RandomBytes } from '@muster/platform/auth';
import type { App, EventStreams } from '@muster/platform/http';
import type { Base } from '@muster/platform/layers';
import type { Recorder } from '@muster/platform/log';
import type { LayerLog } from '@muster/platform/upkeep';
import type { Store } from '@muster/store';
import { appRoutes } from './apps/routes.js';
import type { Acceptance } from './controller/acceptance.js';
import { JobCommands } from './controller/commands.js';
import { Sharing } from './controller/sharing.js';
import { setVisible } from './controller/visibility.js';
import { importRoutes } from './import/routes.js';
import type { Jobs } from './layer.js';
import { type NotificationRouteDeps, notificationRoutes } from './notifications/routes.js';
import { strayRoutes } from './readers/routes.js';
import { recoveryRoutes } from './recovery/routes.js';
import type { JobStore } from './repository/job-store.js';
import { actionRoutes } from './routes/action-routes.js';
import { type FeedRoutesDeps, feedRoutes } from './routes/feed-routes.js';
import { JobFeeds } from './routes/feeds.js';
import { jobRoutes as ownJobRoutes } from './routes/job-routes.js';
import { listRoutes } from './routes/list-routes.js';
import { outputRoutes } from './routes/output-routes.js';
import { permissionRoutes } from './routes/permission-routes.js';
import { queueRoutes } from './routing/routes.js';
import { serveSessions, sessionRoutes } from './systems/agent/session-routes.js';
import { workerConnectionRoutes } from './systems/agent/worker-routes.js';
import { systemRoutes } from './systems/routes.js';
import type { Systems } from './systems/types.js';
import { LivingWorkers } from './worker/living-workers.js';
import { type WorkerRouteDeps, workerRoutes } from './worker/routes.js';

export { jobFinder } from './finding.js';
export { AGAVE_ABSENT, AGAVE_ERRORS } from './routes/envelope.js';
export { appRoutes, queueRoutes, serveSessions, sessionRoutes, systemRoutes, workerConnectionRoutes };

/** All of it, as the server shows it. */
export function allJobRoutes(
  base: Base,
  jobs: Jobs,
  { auth, streams }: { readonly auth: Auth; readonly streams: EventStreams },
): (app: App) => void {
  const { store, recorder, clock, random, logger, config } = base;
  const deps = { store, recorder, clock, random, logger, auth, streams, keepaliveMs: config.push.keepalive * 1000 };
  const { private_targets: privateTargets, smtp_url: url } = config.outbound;
  const livingWorkers = new LivingWorkers({ store, clock });
  const catalog = { ...jobs, auth, clock, read: store.read, livingWorkers };
  return (app) => {
    jobRoutes({ ...jobs, ...deps })(app);
    jobAdminRoutes({ ...jobs, ...deps, livingWorkers, privateTargets, sendsMail: url !== undefined })(app);
    appRoutes(app, catalog);
    systemRoutes(app, catalog);
    queueRoutes(app, catalog);
  };
}

export interface JobRoutesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly logger: LayerLog;
  readonly auth: Pick<Auth, 'audit' | 'authorize' | 'repository' | 'rights'>;
  readonly broker: Broker;
  readonly jobs: JobStore;
  readonly acceptance: Acceptance;
  /** Where outputs are read. */
  readonly opened: Pick<Systems, 'open'>;
  readonly recorder: Recorder;
  readonly streams: EventStreams;
  /** Between comments that keep streams of events open. */
  readonly keepaliveMs: number;
}

/** What the layer shows over HTTP; apart, so that a process without HTTP does not load it. */
export function jobRoutes(given: JobRoutesDeps): (app: App) => void {
  const { store, auth, clock, logger, streams, keepaliveMs, acceptance } = given;
  const deps: FeedRoutesDeps = {
    read: store.read,
    store,
    clock,
    auth,
    acceptance,
    commands: new JobCommands(given),
    sharing: new Sharing({ ...given, repository: auth.repository }),
    setVisible: (job, visible, by) => setVisible(given, job, visible, by),
    systems: given.opened,
    feeds: new JobFeeds(given),
    logger,
    streams,
    keepaliveMs,
  };
  return (app) => {
    listRoutes(app, deps);
    ownJobRoutes(app, deps);
    actionRoutes(app, deps);
    permissionRoutes(app, deps);
    outputRoutes(app, deps);
    feedRoutes(app, deps);
  };
}

/** What is shown of recovery, of messages that nobody took, of notifications and of workers; and jobs of others taken over. */
export function jobAdminRoutes(deps: NotificationRouteDeps & WorkerRouteDeps): (app: App) => void {
  return (app) => {
    recoveryRoutes(app, deps);
    strayRoutes(app, deps);
    notificationRoutes(app, deps);
    workerRoutes(app, deps);
    importRoutes(app, deps);
  };
}
