import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { systemClock } from '@muster/base';
import { VERSION } from '@muster/base/version';
import {
  Asking,
  createAskingReach,
  createAskingRunner,
  createJobParts,
  type JobParts,
  jobQueueName,
} from '@muster/jobs';
import { type Organization, organizationsById, systemRandom } from '@muster/platform/auth';
import type { ServerConfig } from '@muster/platform/config';
import { type Base, Layers } from '@muster/platform/layers';
import { Recorder } from '@muster/platform/log';
import { Metrics } from '@muster/platform/metrics';
import { openSealingKey } from '@muster/platform/secrets';
import { createLogger } from '@muster/platform/upkeep';
import type { Logger } from 'pino';
import { openBroker } from './broker.js';
import { MusterError } from './errors.js';
import { failing } from './failing.js';
import { openStore } from './store.js';

/** What a process beside the server does for jobs. */
export type JobWork =
  | {
      readonly kind: 'worker';
      readonly organization: string;
      /** Among the workers of the organization; one is made up when absent. */
      readonly name?: string;
      /** The submission queue, whole or its last part. */
      readonly queue: string;
      readonly slots: number;
    }
  | { readonly kind: 'recovery'; readonly organization: string }
  | { readonly kind: 'alternate' | 'dead-letter' };

export interface RunningWork {
  /** Resolves (`server_failed`) when it cannot go on; then it is to be stopped. */
  readonly failed: Promise<MusterError>;
  /** Resolves when it was told to end by others. */
  readonly ended: Promise<void>;
  /** Gives back what it has, and lets go. */
  stop(): Promise<void>;
}

/**
 * Works on jobs, or reads what is to be read, in a process of its own beside a server with the same database and broker.
 * @throws MusterError `invalid_configuration`, `secret_key_unusable`, `organization_not_found`, `invalid_worker`,
 * `broker_unavailable`, `schema_too_new`, `database_unusable`.
 */
export async function startWork(config: ServerConfig, work: JobWork, given?: Logger): Promise<RunningWork> {
  if (config.database_url === undefined) {
    const reason = 'database_url is missing: a process beside the server needs its PostgreSQL (SQLite has one process)';
    throw new MusterError('invalid_configuration', { reason });
  }
  const logger = given ?? createLogger(config.log_level);
  const layers = new Layers();
  try {
    return await start(config, work, { logger, layers });
  } catch (error) {
    // What was opened by halves may not close cleanly either; why it failed is what the reader needs.
    await layers.stop().catch(() => undefined);
    throw error;
  }
}

async function start(
  config: ServerConfig,
  work: JobWork,
  { logger, layers }: { readonly logger: Logger; readonly layers: Layers },
): Promise<RunningWork> {
  const { failed, fail } = failing();
  const [clock, random, metrics, incarnation] = [systemClock, systemRandom, new Metrics(), randomUUID()];
  const store = await openStore(config, { clock, logger, random, metrics, fail, exclusive: false });
  layers.add({ stop: () => store.close() });
  const recorder = new Recorder({
    store,
    clock,
    maxSize: config.events.max_size,
    organizationName: async (id) => (await organizationsById(store.read)).get(id)?.name ?? null,
    failed: (error) => logger.warn({ err: error }, 'what others recorded could not be read'),
  });
  await recorder.load();
  recorder.announce();
  const base: Base = {
    ...{ store, recorder, clock, random, logger, metrics, config, incarnation },
    serverName: config.name ?? hostname(),
  };
  const sealingKey = openSealingKey(config, { make: false });
  const broker = await openBroker(base);
  const asking = new Asking({ broker, clock });
  const tasks = createAskingRunner({ asking, recorder, read: store.read });
  const agents = createAskingReach({ asking, clock });
  const parts = createJobParts(base, { broker, version: VERSION, tasks, agents, sealingKey });
  layers.add(
    { stop: () => broker.close() },
    { stop: async () => recorder.stop() },
    asking,
    { stop: async () => tasks.stop() },
    parts,
  );
  let told: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    told = resolve;
  });
  const about = await begin(parts, work, {
    organization: (name) => organizationOf(base, name),
    name: `w-${incarnation.slice(0, 8)}`,
    ended: (why) => {
      if (why === 'told') told();
      else fail('too much went wrong in too short a time', new Error('see the lines above'));
    },
  });
  logger.info({ ...about, broker: broker.kind, version: VERSION }, `muster ${titleOf(work)} is up`);
  return {
    failed,
    ended,
    async stop() {
      await layers.stop();
      logger.info(about, `muster ${titleOf(work)} has stopped`);
    },
  };
}

interface Beginning {
  readonly organization: (name: string) => Promise<Organization>;
  /** For a worker that is not named. */
  readonly name: string;
  readonly ended: (why: 'told' | 'faults') => void;
}

/** Answers what is logged of it. */
async function begin(parts: JobParts, work: JobWork, { organization, name, ended }: Beginning): Promise<object> {
  switch (work.kind) {
    case 'worker': {
      const of = await organization(work.organization);
      const about = { name: work.name ?? name, queue: jobQueueName(of.name, work.queue), slots: work.slots };
      await parts.workers.add({ organization: of, ...about, ended });
      return { organization: of.name, ...about };
    }
    case 'recovery': {
      const of = await organization(work.organization);
      parts.readers.recovery.add(of);
      return { organization: of.name };
    }
    default:
      parts.readers.strays[work.kind].start();
      return {};
  }
}

async function organizationOf({ store }: Base, name: string): Promise<Organization> {
  const all = (await organizationsById(store.read)).values();
  const found = [...all].find((organization) => organization.name === name);
  if (found === undefined) throw new MusterError('organization_not_found', { organization: name });
  return found;
}

const titleOf = ({ kind }: JobWork): string => (kind === 'worker' ? 'worker' : `reader ${kind}`);
