import type { NodeRegistry } from '@muster/nodes';
import type { IdentityListener } from '@muster/platform/auth';
import type { Base, Layer } from '@muster/platform/layers';
import { taskAspect } from './aspect.js';
import { createTaskController, type TaskControllerService } from './controller/controller.js';
import { createTaskMetrics } from './metrics.js';
import { TaskRetention } from './retention.js';
import type { TaskSecrets } from './secrets/use.js';

export interface TasksDeps {
  readonly nodes: NodeRegistry;
  readonly secrets: TaskSecrets;
}

export interface Tasks extends Required<Omit<Layer, 'status'>>, Pick<IdentityListener, 'organizationRemoved'> {
  readonly controller: TaskControllerService;
  readonly nodes: NodeRegistry;
  /** Aborted when the layer stops. */
  readonly stopping: AbortSignal;
  /** Of all organizations. */
  unfinished(): { readonly tasks_waiting: number; readonly tasks_running: number };
}

/** Queues and tasks, composed. */
export function createTasks(base: Base, { nodes, secrets }: TasksDeps): Tasks {
  const { store, recorder, clock, random, logger, metrics, config } = base;
  const ended = createTaskMetrics(metrics, () => controller.allQueues());
  const controller: TaskControllerService = createTaskController({
    store,
    recorder,
    clock,
    random,
    logger,
    nodes,
    config,
    secrets,
    ended,
  });
  nodes.show(
    taskAspect(
      (node) => controller.slotsOf(node),
      () => clock.monotonic(),
    ),
  );
  const retention = new TaskRetention({
    store,
    clock,
    keepMs: config.tasks.keep * 1000,
    queues: () => controller.allQueues(),
    beginDeleting: (ids) => controller.beginDeleting(ids),
    undoDeleting: (ids) => controller.undoDeleting(ids),
    failed: (error) => logger.warn({ err: error }, 'old tasks could not be deleted'),
  });
  const stopping = new AbortController();
  return {
    controller,
    nodes,
    stopping: stopping.signal,
    organizationRemoved: (orgId) => controller.forget(orgId),
    unfinished() {
      let [waiting, running] = [0, 0];
      for (const { counts } of controller.allQueues()) {
        waiting += counts.queued + counts.blocked;
        running += counts.claimed + counts.running;
      }
      return { tasks_waiting: waiting, tasks_running: running };
    },
    load: () => controller.load(),
    start() {
      controller.start();
      retention.start();
    },
    async stop() {
      stopping.abort();
      await Promise.all([retention.stop(), controller.stop()]);
    },
  };
}
