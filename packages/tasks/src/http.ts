import type { Auth } from '@muster/platform/auth';
import type { App, EventStreams } from '@muster/platform/http';
import type { Base } from '@muster/platform/layers';
import type { OutputFollowers } from '@muster/platform/output';
import type { Secrets } from '@muster/platform/secrets';
import type { Bulk } from './bulk/layer.js';
import { bulkRoutes } from './bulk/routes.js';
import { calendarRoutes } from './calendars/routes.js';
import type { TaskController } from './ports.js';
import { actionRoutes } from './routes/action-routes.js';
import { addRoutes } from './routes/add-routes.js';
import { feedRoutes } from './routes/feed-routes.js';
import { TaskFeeds } from './routes/feeds.js';
import { outputRoutes } from './routes/output-routes.js';
import { queueRoutes } from './routes/queue-routes.js';
import { taskRoutes as ownTaskRoutes } from './routes/task-routes.js';
import type { Schedules } from './schedules/layer.js';
import { scheduleRoutes } from './schedules/routes.js';
import { secretRoutes } from './secrets/routes.js';

export { taskFinders } from './finding.js';

/** What the routes need of the layer. */
export interface ShownTasks {
  readonly controller: TaskController & { readonly outputFollowers: Pick<OutputFollowers, 'follow'> };
  /** Aborted when the layer stops. */
  readonly stopping: AbortSignal;
}

export interface TaskRoutesDeps {
  readonly auth: Pick<Auth, 'audit' | 'authorize' | 'organizations' | 'repository' | 'rights' | 'standing'>;
  readonly streams: EventStreams;
  readonly secrets: Pick<Secrets, 'boxed' | 'usable'>;
  readonly bulk: Pick<Bulk, 'runner'>;
}

/** What the layer shows over HTTP; apart, so that a process without HTTP does not load it. */
export function taskRoutes(
  base: Base,
  tasks: ShownTasks,
  { auth, streams, secrets, bulk }: TaskRoutesDeps,
): (app: App) => void {
  const { store, config, logger } = base;
  const { controller, stopping } = tasks;
  const feeds = new TaskFeeds(base);
  stopping.addEventListener('abort', () => feeds.close(), { once: true });
  const deps = {
    read: store.read,
    controller,
    outputFollowers: controller.outputFollowers,
    auth,
    streams,
    feeds,
    logger,
    keepaliveMs: config.push.keepalive * 1000,
    maxParams: config.tasks.max_params,
    stopping,
  };
  return (app) => {
    queueRoutes(app, deps);
    addRoutes(app, deps);
    ownTaskRoutes(app, deps);
    actionRoutes(app, deps);
    bulkRoutes(app, { ...deps, bulk: bulk.runner });
    outputRoutes(app, deps);
    feedRoutes(app, deps);
    secretRoutes(app, { read: store.read, controller, secrets, auth, log: logger });
  };
}

/** What schedules show. */
export function schedulesRoutes(
  { store, clock, config }: Pick<Base, 'clock' | 'config' | 'store'>,
  schedules: Schedules,
  { auth, tasks }: Pick<TaskRoutesDeps, 'auth'> & { readonly tasks: Pick<ShownTasks, 'controller'> },
): (app: App) => void {
  const maxParams = config.tasks.max_params;
  const deps = { read: store.read, schedules, tasks: tasks.controller, auth, maxParams };
  return (app) => {
    scheduleRoutes(app, deps);
    calendarRoutes(app, { calendars: schedules.calendars, clock });
  };
}
