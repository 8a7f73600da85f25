import type { NodeRegistry } from '@muster/nodes';
import type { Base, Layer } from '@muster/platform/layers';
import type { Secrets } from '@muster/platform/secrets';
import { ToldCommands } from './commands/told-commands.js';
import { createPushController } from './controller/controller.js';
import { createPushFeeds, type PushFeeds } from './feeds.js';
import { PushFiles } from './files/push-files.js';
import { createPushMetrics } from './metrics.js';
import { Ownership } from './ownership/ownership.js';
import type { PushController, PushControllerService } from './ports.js';
import { JobRetention } from './repository/retention.js';
import { StartLimits } from './request/start-limits.js';

export interface PushDeps {
  readonly nodes: NodeRegistry;
  readonly secrets: Secrets;
}

export interface Push extends Required<Layer> {
  readonly controller: PushController;
  readonly owners: Ownership;
  readonly commands: ToldCommands;
  readonly limits: StartLimits;
  readonly feeds: PushFeeds;
  readonly files: PushFiles;
  readonly nodes: NodeRegistry;
  readonly secrets: Secrets;
  /** Aborted when the layer stops. */
  readonly stopping: AbortSignal;
  /** Of all organizations. */
  unfinished(): { readonly push_jobs: number };
}

/** Push jobs, composed. */
export function createPush(base: Base, { nodes, secrets }: PushDeps): Push {
  const { store, recorder, clock, logger, metrics, config, incarnation } = base;
  const retentionSeconds = config.push.org_feed_history;
  const feeds = createPushFeeds({ read: store.read, recorder, clock, retentionSeconds });
  const owners = new Ownership({ store, clock, logger, metrics, nodes, config, incarnation });
  const commands = new ToldCommands({ store, nodes });
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
  const files = new PushFiles({
    store,
    clock,
    config,
    failed: (error) => logger.warn({ err: error }, 'old files of push jobs could not be deleted'),
  });
  const stopping = new AbortController();
  return {
    controller,
    owners,
    commands,
    limits: new StartLimits({ clock, config, controller }),
    feeds,
    files,
    nodes,
    secrets,
    stopping: stopping.signal,
    unfinished: () => ({ push_jobs: [...controller.unfinished()].length }),
    // After the nodes layer, before anything listens.
    async load() {
      await feeds.load();
      await owners.load();
      await commands.load();
      await controller.load();
    },
    start() {
      retention.start();
      files.start();
    },
    async stop() {
      stopping.abort();
      feeds.close();
      await Promise.all([retention.stop(), files.stop(), controller.stop()]);
    },
    status: () => ({ jobs: controller.liveJobs() }),
  };
}
