import { randomBytes } from 'node:crypto';
import type { Clock } from '@muster/base';
import type { NodeLog, NodeRegistry } from '@muster/nodes';
import type { ServerConfig } from '@muster/platform/config';
import type { App, EventStreams } from '@muster/platform/http';
import type { Recorder } from '@muster/platform/log';
import type { Metrics } from '@muster/platform/metrics';
import type { Store } from '@muster/store';
import { createPushController } from './controller/controller.js';
import { createPushFeeds } from './feeds.js';
import { createPushMetrics } from './metrics.js';
import { Ownership } from './ownership/ownership.js';
import type { PushController, PushControllerService } from './ports.js';
import { JobRetention } from './repository/retention.js';
import type { PushAudit } from './request/submission.js';
import type { PushAccess } from './routes/access.js';
import { jobRoutes } from './routes/job-routes.js';
import { feedRoutes, outputRoutes } from './routes/stream-routes.js';

export type { PushController } from './ports.js';
export type { PushAudit } from './request/submission.js';
export type { PushAccess } from './routes/access.js';

export interface PushDeps {
  readonly store: Store;
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly logger: NodeLog;
  readonly metrics: Metrics;
  readonly config: ServerConfig;
  readonly nodes: NodeRegistry;
  /** Of this server process; new at every start. */
  readonly incarnation: string;
  readonly streams: EventStreams;
  readonly audit: PushAudit;
  readonly access: PushAccess;
  readonly random?: (bytes: number) => Uint8Array;
}

export interface Push {
  readonly controller: PushController;
  routes(app: App): void;
  /** Takes up unfinished jobs, and from now on deletes old ones. After the nodes layer was loaded, before anything listens. */
  start(): Promise<void>;
  /** Ends streams and timers; jobs go on with the next server. */
  stop(): Promise<void>;
}

/** Push jobs, composed. */
export function createPush(deps: PushDeps): Push {
  const { store, recorder, clock, logger, metrics, config, nodes, incarnation, audit, access } = deps;
  const retentionSeconds = config.push.org_feed_history;
  const feeds = createPushFeeds({ read: store.read, recorder, clock, retentionSeconds });
  const owners = new Ownership({ store, clock, logger, metrics, nodes, config, incarnation });
  const controller: PushControllerService = createPushController({
    store,
    recorder,
    clock,
    logger,
    nodes,
    owners,
    config,
    feed: feeds,
    counts: createPushMetrics(metrics, () => controller.unfinished()),
  });
  const deletedJobs = metrics.counter('muster_push_jobs_deleted_total', 'Finished jobs deleted for their age');
  const retention = new JobRetention({
    store,
    clock,
    keepMs: config.push.keep * 1000,
    isLive: (jobId) => controller.isLive(jobId),
    deleted: (jobs) => deletedJobs.inc(jobs),
    failed: (error) => logger.warn({ err: error }, 'old push jobs could not be deleted'),
  });
  const stopping = new AbortController();
  const routeDeps = {
    read: store.read,
    controller,
    nodes,
    audit,
    access,
    config,
    logger,
    feeds,
    streams: deps.streams,
    maxNodes: config.push.max_nodes,
    random: deps.random ?? randomBytes,
    now: () => clock.now(),
    stopping: stopping.signal,
  };
  return {
    controller,
    routes: (app) => {
      owners.routes(app);
      jobRoutes(app, routeDeps);
      feedRoutes(app, routeDeps);
      outputRoutes(app, routeDeps);
    },
    start: async () => {
      await feeds.load();
      await owners.load();
      await controller.load();
      retention.start();
    },
    stop: async () => {
      stopping.abort();
      feeds.close();
      await Promise.all([retention.stop(), controller.stop()]);
    },
  };
}
