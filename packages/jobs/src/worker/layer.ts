import { hostname } from 'node:os';
import type { Broker } from '@muster/broker';
import type { Organization } from '@muster/platform/auth';
import type { Base, Layer } from '@muster/platform/layers';
import type { Apps, PhasePorts } from '../phases/context.js';
import type { Places } from '../phases/places.js';
import { HttpWeb } from '../phases/web.js';
import type { JobStore } from '../repository/job-store.js';
import type { SystemStore } from '../systems/system-store.js';
import type { Systems } from '../systems/types.js';
import { type Paces, pacesOf } from './limits.js';
import { JobWorker } from './worker.js';

export interface JobWorkersDeps {
  readonly broker: Broker;
  readonly jobs: JobStore;
  readonly systems: Systems;
  readonly defined: Pick<SystemStore, 'defaultOf' | 'list'>;
  readonly apps: Apps;
  /** Of this program. */
  readonly version: string;
  readonly paces?: Paces;
}

export interface NewWorker {
  readonly organization: Pick<Organization, 'id' | 'name'>;
  readonly name: string;
  /** The submission queue, whole. */
  readonly queue: string;
  readonly slots: number;
  /** It ended by itself. */
  readonly ended?: (why: 'told' | 'faults') => void;
}

export interface JobWorkers extends Required<Pick<Layer, 'stop'>> {
  /** Starts one. @throws MusterError `invalid_worker`, `broker_unavailable`, `store_unavailable` */
  add(worker: NewWorker): Promise<JobWorker>;
  /** Those that have not ended. */
  readonly workers: readonly JobWorker[];
}

/** The workers of one process, composed: with neither HTTP nor a channel to nodes. */
export function createJobWorkers(base: Base, deps: JobWorkersDeps): JobWorkers {
  const { store, recorder, clock, random, logger, config } = base;
  const { broker, jobs, systems, apps, version } = deps;
  const { starts } = config.jobs;
  const paces = deps.paces ?? pacesOf(starts);
  const ports: PhasePorts = {
    systems,
    apps,
    places: placesOf(deps.defined),
    web: new HttpWeb({ privateTargets: config.outbound.private_targets }),
    clock,
    log: logger,
  };
  const workers = new Set<JobWorker>();
  return {
    get workers() {
      return [...workers];
    },
    async add({ organization, name, queue, slots, ended }) {
      const worker: JobWorker = new JobWorker({
        settings: { organization, name, queue, slots, host: hostname(), version },
        store,
        recorder,
        jobs,
        broker,
        ports,
        clock,
        random,
        log: logger,
        paces,
        ended: (why) => {
          workers.delete(worker);
          ended?.(why);
        },
      });
      workers.add(worker);
      try {
        await worker.start();
      } catch (error) {
        workers.delete(worker);
        await worker.stop();
        throw error;
      }
      return worker;
    },
    async stop() {
      await Promise.all([...workers].map((worker) => worker.stop()));
    },
  };
}

const SSH_PORT = 22;

function placesOf(defined: JobWorkersDeps['defined']): Places {
  return {
    defaultSystem: async (orgId) => (await defined.defaultOf(orgId))?.name ?? null,
    systemAt: async (orgId, { host, port, user }) => {
      const systems = await defined.list(orgId);
      const found = systems.find(
        (system) =>
          system.host === host && (system.port ?? SSH_PORT) === port && (user === null || system.user === user),
      );
      return found?.name ?? null;
    },
  };
}
