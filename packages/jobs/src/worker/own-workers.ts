import { createHash } from 'node:crypto';
import type { Clock, Timer } from '@muster/base';
import { type Organization, organizationsById } from '@muster/platform/auth';
import type { LayerLog } from '@muster/platform/upkeep';
import type { Store } from '@muster/store';
import type { JobQueues } from '../routing/job-queues.js';
import type { JobWorkers } from './layer.js';
import type { JobWorker } from './worker.js';

export interface OwnWorkersDeps {
  readonly store: Pick<Store, 'read'>;
  readonly clock: Clock;
  readonly logger: LayerLog;
  readonly workers: Pick<JobWorkers, 'add'>;
  readonly queues: Pick<JobQueues, 'list'>;
  /** Of each worker; 0: there is none. */
  readonly slots: number;
  /** By which workers of several servers are told apart. */
  readonly incarnation: string;
}

export type Used = (organization: Organization, queue: string) => void;

/** After which a worker that could not start, or had too many faults, is tried again. */
const AGAIN_MS = 5000;
/** With `srv-` a name has at most 16 characters. */
const NAME_DIGITS = 12;

interface Own {
  readonly orgId: string;
  worker: JobWorker | null;
  beginning: Promise<void>;
  retry: Timer | null;
  gone: boolean;
}

/** The workers of a server: one for each queue of each organization, from its start, or from when the queue is defined or used first. */
export class OwnWorkers {
  readonly #deps: OwnWorkersDeps;
  /** By queue; their names hold that of the organization. */
  readonly #own = new Map<string, Own>();
  #stopped = false;

  constructor(deps: OwnWorkersDeps) {
    this.#deps = deps;
  }

  readonly used: Used = (organization, queue) => {
    if (this.#deps.slots === 0 || this.#stopped || this.#own.has(queue)) return;
    const own: Own = { orgId: organization.id, worker: null, beginning: Promise.resolve(), retry: null, gone: false };
    this.#own.set(queue, own);
    own.beginning = this.#begin(own, organization, queue);
  };

  async start(): Promise<void> {
    const { store, queues, slots } = this.#deps;
    if (slots === 0) return;
    for (const organization of (await organizationsById(store.read)).values()) {
      for (const { name } of await queues.list(organization)) this.used(organization, name);
    }
  }

  async organizationRemoved(orgId: string): Promise<void> {
    const gone = [...this.#own].filter(([, own]) => own.orgId === orgId);
    await Promise.all(gone.map(([queue]) => this.queueRemoved(queue)));
  }

  async queueRemoved(queue: string): Promise<void> {
    const own = this.#own.get(queue);
    if (own === undefined) return;
    this.#own.delete(queue);
    own.gone = true;
    own.retry?.cancel();
    await own.beginning;
    await own.worker?.stop();
  }

  /** Begins no more; those that run are ended by who has them. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { retry } of this.#own.values()) retry?.cancel();
    await Promise.all([...this.#own.values()].map(({ beginning }) => beginning));
  }

  async #begin(own: Own, organization: Organization, queue: string): Promise<void> {
    const { workers, slots, incarnation, logger } = this.#deps;
    const digest = createHash('sha256').update(`${incarnation}\n${queue}`).digest('hex');
    const name = `srv-${digest.slice(0, NAME_DIGITS)}`;
    const ended = (why: 'told' | 'faults'): void => {
      own.worker = null;
      if (why === 'faults') this.#later(own, organization, queue);
    };
    try {
      const worker = await workers.add({ organization, name, queue, slots, ended });
      if (own.gone || this.#stopped) await worker.stop();
      else own.worker = worker;
    } catch (err) {
      logger.warn({ err, queue }, 'no worker could be started for a job queue: it is tried again');
      this.#later(own, organization, queue);
    }
  }

  #later(own: Own, organization: Organization, queue: string): void {
    if (own.gone || this.#stopped) return;
    own.retry = this.#deps.clock.after(AGAIN_MS, () => {
      own.beginning = this.#begin(own, organization, queue);
    });
  }
}
