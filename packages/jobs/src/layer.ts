import type { Broker } from '@muster/broker';
import type { IdentityListener } from '@muster/platform/auth';
import type { Base, Layer } from '@muster/platform/layers';
import type { SealingKey } from '@muster/platform/secrets';
import { AppStore } from './apps/app-store.js';
import { Acceptance } from './controller/acceptance.js';
import { countJobs } from './metrics.js';
import { createJobReaders, type JobReaders } from './readers/layer.js';
import { entryIds } from './repository/entry-ids.js';
import { JobStore } from './repository/job-store.js';
import { JobQueues } from './routing/job-queues.js';
import type { AgentReach } from './systems/agent/types.js';
import type { WorkerConnections } from './systems/agent/worker-connections.js';
import { OrderTaker } from './systems/asking/order-taker.js';
import { OpenSystems } from './systems/registry.js';
import { SystemStore } from './systems/system-store.js';
import type { TaskRunner } from './systems/tasks/types.js';
import { createJobWorkers, type JobWorkers } from './worker/layer.js';
import { OwnWorkers, type Used } from './worker/own-workers.js';

export interface JobsDeps {
  readonly broker: Broker;
  /** Of this program. */
  readonly version: string;
  /** Over the queues of this process, or over those of a server that is asked. */
  readonly tasks: TaskRunner;
  /** Over the agents of this process, or over those of a server that is asked. */
  readonly agents: AgentReach;
  /** Of the server: seals what opens systems. */
  readonly sealingKey: SealingKey;
}

/** What a process that has anything to do with jobs has of them. Nothing acts by itself yet. */
export interface JobParts extends Required<Pick<Layer, 'stop'>> {
  readonly broker: Broker;
  readonly jobs: JobStore;
  readonly apps: AppStore;
  readonly systems: SystemStore;
  readonly queues: JobQueues;
  readonly opened: OpenSystems;
  readonly workers: JobWorkers;
  readonly readers: JobReaders;
  /** What the keys are made of with which webhooks are signed. */
  readonly masterKey: Uint8Array;
}

export function createJobParts(base: Base, { broker, version, tasks, agents, sealingKey }: JobsDeps): JobParts {
  const { store, recorder, clock, random, logger } = base;
  const masterKey = sealingKey.derive('webhooks');
  const jobs = new JobStore({ store, recorder, clock, nextId: entryIds(clock, random) });
  const apps = new AppStore({ store, clock, random });
  const systems = new SystemStore({ store, clock, random, secrets: sealingKey });
  const queues = new JobQueues({ store, recorder, clock, random, broker, logger });
  const opened = new OpenSystems({ systems, clock, tasks, agents });
  const workers = createJobWorkers(base, { broker, jobs, systems: opened, defined: systems, apps, version });
  const readers = createJobReaders(base, { broker, jobs, systems: opened });
  return {
    broker,
    jobs,
    apps,
    systems,
    queues,
    opened,
    workers,
    readers,
    masterKey,
    async stop() {
      await Promise.all([workers.stop(), readers.stop()]);
      await opened.close();
      for (const kept of [apps, systems, queues]) kept.stop();
    },
  };
}

export interface Jobs extends JobParts, Required<Pick<Layer, 'start'>>, IdentityListener {
  /** What is accepted is looked after by somebody here: its queue, and what becomes of it. */
  readonly acceptance: Acceptance;
}

export interface ServerJobsDeps extends JobsDeps {
  /** Ways to nodes for workers in other processes. */
  readonly connections: WorkerConnections;
}

/** The jobs of a server: all readers, and unless `jobs.slots` is 0 a worker for each queue. */
export function createJobs(base: Base, deps: ServerJobsDeps): Jobs {
  const parts = createJobParts(base, deps);
  const { readers, queues, workers } = parts;
  const uncount = countJobs(base.metrics, { ...parts, recorder: base.recorder });
  const own = new OwnWorkers({ ...base, workers, queues, slots: base.config.jobs.slots });
  queues.onStored(own.used);
  queues.onRemoved((queue) => {
    own.queueRemoved(queue).catch((err: unknown) => {
      base.logger.warn({ err, queue }, 'the worker of a job queue that was deleted did not end cleanly');
    });
  });
  // With SQLite there is no other process.
  const orders =
    base.store.kind === 'postgres'
      ? new OrderTaker({ ...deps, runner: deps.tasks, recorder: base.recorder, log: base.logger })
      : undefined;
  const used: Used = (organization, queue) => {
    readers.recovery.add(organization);
    own.used(organization, queue);
  };
  return {
    ...parts,
    acceptance: new Acceptance({ ...base, ...parts, used }),
    async organizationRemoved(orgId) {
      await Promise.all([readers.organizationRemoved(orgId), own.organizationRemoved(orgId)]);
    },
    async start() {
      await readers.start();
      await own.start();
      await orders?.start();
    },
    async stop() {
      uncount();
      await orders?.stop();
      await deps.connections.stop();
      await own.stop();
      await parts.stop();
    },
  };
}
