import type { Clock } from '@muster/base';
import { type Broker, submissionTopology } from '@muster/broker';
import type { Organization, RandomBytes } from '@muster/platform/auth';
import type { Recorder } from '@muster/platform/log';
import type { Schema, Store, Write } from '@muster/store';
import { GuardFailed } from '@muster/store';
import type { Selectable, Transaction } from 'kysely';
import { MusterError } from '../errors.js';
import { JOB_QUEUE_EVENTS } from '../event-types.js';
import { HintedCache } from '../repository/hinted-cache.js';
import { newUuid } from '../uuid.js';
import type { RoutingAttributes } from './attributes.js';
import { defaultQueueOf, MOST_QUEUES } from './definition.js';
import { invalidQueue } from './errors.js';
import { type Answer, ask, type Candidate, candidatesOf, choose } from './selection.js';
import { DEFAULT_FILTER, DEFAULT_PRIORITY, type JobQueue, type QueueDefinition } from './types.js';
import '../repository/tables.js';

type Trx = Transaction<Schema>;
type QueueRow = Selectable<Schema['job_queues']>;

/** Organizations whose queues are in memory. */
const MOST_KEPT = 1000;

export interface JobQueuesDeps {
  readonly store: Store;
  readonly recorder: Pick<Recorder, 'transact'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: RandomBytes;
  readonly broker: Pick<Broker, 'declare' | 'remove'>;
  readonly logger: { warn(about: object, text: string): void; info(about: object, text: string): void };
}

/** Why a request goes to which queue. */
export interface Explanation {
  readonly queue: string;
  /** No filter matched: it is the default queue's. */
  readonly byDefault: boolean;
  /** In the order in which they are asked; those behind the chosen one were not asked. */
  readonly answers: readonly (Answer & { readonly asked: boolean })[];
}

/**
 * The submission queues of organizations: their definitions, which every server has in memory, and which request goes to which.
 * A default queue is always there.
 */
export class JobQueues {
  readonly #deps: JobQueuesDeps;
  readonly #cache: HintedCache<readonly Candidate[]>;
  readonly #stored = new Set<(organization: Organization, queue: string) => void>();
  readonly #removed = new Set<(queue: string) => void>();

  constructor(deps: JobQueuesDeps) {
    this.#deps = deps;
    this.#cache = new HintedCache(deps.store, 'job-queues', MOST_KEPT);
  }

  stop(): void {
    this.#cache.stop();
  }

  /** Tells of queues that were created or changed in this process. */
  onStored(listener: (organization: Organization, queue: string) => void): void {
    this.#stored.add(listener);
  }

  /** Tells of queues that were deleted in this process, before their messages go. */
  onRemoved(listener: (queue: string) => void): void {
    this.#removed.add(listener);
  }

  /** In the order in which they are asked. @throws MusterError `job_queue_unstored`: JOBS_QUEUE_FAILED_QUERY */
  async list(organization: Organization): Promise<readonly JobQueue[]> {
    const candidates = await unstored('JOBS_QUEUE_FAILED_QUERY', this.#candidates(organization));
    return candidates.map(({ queue }) => queue);
  }

  /** The queue of a request, whole (sheet §4.6). Never fails: where definitions cannot be read, it is the default queue. */
  async choose(organization: Organization, attributes: RoutingAttributes): Promise<string> {
    const { logger } = this.#deps;
    const about = { organization: organization.name, job: attributes.uuid ?? attributes.name };
    const byDefault = defaultQueueOf(organization.name);
    let candidates: readonly Candidate[];
    try {
      candidates = await this.#candidates(organization);
    } catch (error) {
      logger.warn({ ...about, err: error }, `JOBS_QUEUE_FAILED_QUERY the default queue takes what comes: ${byDefault}`);
      return byDefault;
    }
    const chosen = choose(candidates, attributes, ({ queue, error }) => {
      logger.warn({ ...about, queue: queue.name }, error ?? '');
    });
    if (chosen === null) logger.info(about, `JOBS_QUEUE_FILTER_NONE no filter matches: ${byDefault}`);
    return chosen?.name ?? byDefault;
  }

  /** The same, filter by filter. */
  async explain(organization: Organization, attributes: RoutingAttributes): Promise<Explanation> {
    const answers = (await this.#candidates(organization)).map((candidate) => ask(candidate, attributes));
    const first = answers.findIndex(({ matched }) => matched);
    return {
      queue: answers[first]?.queue.name ?? defaultQueueOf(organization.name),
      byDefault: first < 0,
      answers: answers.map((answer, at) => ({ ...answer, asked: first < 0 || at <= first })),
    };
  }

  /**
   * Creates and changes queues, all or none. They are made in the broker first, so that no job is sent to one that is not there.
   * @param also Stored with it, such as the audit's entry.
   * @throws MusterError `job_queue_invalid`, `job_queue_unstored`, `job_queue_tenant_missing`, `broker_unavailable`
   */
  async put(
    organization: Organization,
    definitions: readonly QueueDefinition[],
    also: readonly Write[],
    kind: 'one' | 'file' = 'one',
  ): Promise<readonly JobQueue[]> {
    const before = new Set((await this.list(organization)).flatMap(({ uuid, name }) => (uuid === null ? [] : [name])));
    const isNew = definitions.some(({ name }) => !before.has(name));
    const code = isNew
      ? kind === 'one'
        ? 'JOBS_QUEUE_FAILED_ADD'
        : 'JOBS_QUEUE_FAILED_CREATE'
      : 'JOBS_QUEUE_FAILED_UPDATE';
    for (const { name } of definitions) await this.#deps.broker.declare(submissionTopology(organization.name, name));
    let stored: readonly JobQueue[];
    try {
      stored = await unstored(code, this.#store(organization, definitions, also));
    } catch (error) {
      if (!(error instanceof GuardFailed)) throw error;
      const queue = definitions[0]?.name ?? '';
      throw new MusterError('job_queue_tenant_missing', { tenant: organization.name, queue });
    } finally {
      this.#cache.changed(organization.id);
    }
    for (const { name } of stored) for (const listener of this.#stored) listener(organization, name);
    return stored;
  }

  /**
   * Takes a queue away. Refused while jobs are in it: recovery sends each to the queue it came from.
   * @throws MusterError `job_queue_missing`, `job_queue_conflict`, `job_queue_unstored`
   */
  async remove(organization: Organization, name: string, also: readonly Write[]): Promise<void> {
    const { recorder, broker, logger } = this.#deps;
    if (name === defaultQueueOf(organization.name)) {
      const reason = 'the default queue stays: what no filter matches goes to it';
      throw new MusterError('job_queue_conflict', { code: 'JOBS_QUEUE_INVALID_DEFAULT_QUEUE_DEF', reason });
    }
    const work = recorder.transact(async (trx, record, write) => {
      const mine = trx.deleteFrom('job_queues').where('org_id', '=', organization.id).where('name', '=', name);
      if ((await mine.executeTakeFirst()).numDeletedRows === 0n)
        throw new MusterError('job_queue_missing', { queue: name });
      const jobs = trx
        .selectFrom('jobs')
        .select('uuid')
        .where('org_id', '=', organization.id)
        .where('queue', '=', name);
      const job = await jobs.where('ended', 'is', null).limit(1).executeTakeFirst();
      if (job !== undefined) {
        const reason = `job ${job.uuid} of queue ${name} has not ended`;
        throw new MusterError('job_queue_conflict', { code: 'JOBS_QUEUE_FAILED_DELETE', reason });
      }
      record([JOB_QUEUE_EVENTS.tell('job_queue.removed', organization, { queue: name }, {})]);
      write(also);
    });
    await unstored('JOBS_QUEUE_FAILED_DELETE', work);
    this.#cache.changed(organization.id);
    for (const listener of this.#removed) listener(name);
    try {
      await broker.remove(submissionTopology(organization.name, name));
    } catch (error) {
      logger.warn(
        { err: error, queue: name },
        'a job queue that was deleted is left in the broker: nothing goes to it',
      );
    }
  }

  async #store(
    organization: Organization,
    definitions: readonly QueueDefinition[],
    also: readonly Write[],
  ): Promise<readonly JobQueue[]> {
    const { recorder, clock, random } = this.#deps;
    return recorder.transact(async (trx, record, write) => {
      const before = await rowsOf(trx, organization.id);
      const now = clock.now();
      const after = new Map(before.map((row) => [row.name, row]));
      for (const { name, priority, filter, ifUpdated } of definitions) {
        const known = after.get(name);
        if (ifUpdated !== undefined && known?.last_updated !== ifUpdated) throw changedMeanwhile(name);
        const made = { uuid: known?.uuid ?? newUuid(random, '064'), created: known?.created ?? now };
        after.set(name, { ...made, org_id: organization.id, name, priority, filter, last_updated: now });
      }
      checkPriorities([...after.values()]);
      if (after.size > MOST_QUEUES) throw new MusterError('too_busy', { what: 'job queues', limit: MOST_QUEUES });
      const changed = definitions.flatMap(({ name }) => after.get(name) ?? []);
      // Two steps, so that priorities can be exchanged.
      for (const [at, { uuid }] of changed.entries()) {
        await trx
          .updateTable('job_queues')
          .set({ priority: -1 - at })
          .where('uuid', '=', uuid)
          .execute();
      }
      const known = new Set(before.map(({ uuid }) => uuid));
      for (const row of changed) {
        if (!known.has(row.uuid)) await trx.insertInto('job_queues').values(row).execute();
        else await trx.updateTable('job_queues').set(row).where('uuid', '=', row.uuid).execute();
      }
      record(
        changed.map(({ name, priority, filter }) =>
          JOB_QUEUE_EVENTS.tell('job_queue.changed', organization, { queue: name, priority }, { filter }),
        ),
      );
      write(also);
      return changed.map(queueOf);
    });
  }

  #candidates({ id, name }: Organization): Promise<readonly Candidate[]> {
    return this.#cache.get(id, 'all', async () => {
      const rows = await rowsOf(this.#deps.store.read, id);
      const byDefault = defaultQueueOf(name);
      const queues = rows.map(queueOf);
      if (!queues.some((queue) => queue.name === byDefault)) queues.push(defaultQueue(id, byDefault));
      return candidatesOf(queues);
    });
  }
}

async function rowsOf(read: Store['read'] | Trx, orgId: string): Promise<QueueRow[]> {
  return read.selectFrom('job_queues').selectAll().where('org_id', '=', orgId).execute();
}

function checkPriorities(rows: readonly QueueRow[]): void {
  const names = new Map<number, string>();
  for (const { name, priority } of rows) {
    const other = names.get(priority);
    if (other !== undefined) {
      throw invalidQueue('JOBS_QUEUE_DUP_PRIORITY', 'priority', `${priority} of ${name} is also that of ${other}`);
    }
    names.set(priority, name);
  }
}

function changedMeanwhile(name: string): MusterError {
  const reason = `queue ${name} was changed or deleted meanwhile`;
  return new MusterError('job_queue_conflict', { code: 'JOBS_QUEUE_UPDATE_FAILED', reason });
}

/** What the database refuses, told by what it was asked for. Errors of a definition pass. */
async function unstored<T>(code: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof MusterError) || error.code !== 'store_unavailable') throw error;
    throw new MusterError('job_queue_unstored', { code, reason: error.message }, { cause: error });
  }
}

function defaultQueue(orgId: string, name: string): JobQueue {
  return {
    uuid: null,
    orgId,
    name,
    priority: DEFAULT_PRIORITY,
    filter: DEFAULT_FILTER,
    created: null,
    lastUpdated: null,
  };
}

function queueOf(row: QueueRow): JobQueue {
  const { uuid, org_id: orgId, name, priority, filter, created, last_updated: lastUpdated } = row;
  return { uuid, orgId, name, priority, filter, created, lastUpdated };
}
