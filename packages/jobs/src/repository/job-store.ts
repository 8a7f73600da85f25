import type { Clock } from '@muster/base';
import type { Recorder } from '@muster/platform/log';
import { DELIVERIES_HINT } from '@muster/platform/outbound';
import { absent, GuardFailed, guard, insert, type Schema, type Store, update, type Write } from '@muster/store';
import type { Transaction } from 'kysely';
import { JOB_EVENTS, statusType } from '../event-types.js';
import { stepJob, type Transition, transitionText } from '../machine.js';
import { deliveriesOf, type Events, eventsOf } from '../notifications/deliveries.js';
import { activeSubscriptions, subscriptionsOf, subscriptionWrite } from '../notifications/subscriptions.js';
import { RECOVERY_HINT, WANTED_HINT } from '../recovery/hint.js';
import { DESCRIPTIONS, isActive, isTerminal, type Status } from '../status.js';
import type { By, Doer, Job, Wanted } from '../types.js';
import { type EntryIds, entryTime } from './entry-ids.js';
import { JOB_COLUMNS, jobOf, storedJob } from './job-row.js';

/** Characters of the last message (sheet §1.1). */
const MOST_MESSAGE = 2048;
/** Characters of an address, as those of IPv6 with a zone are written. */
const MOST_ADDRESS = 64;

/** Somebody else has the job now: whoever hears this does nothing more for it. */
export class JobLost extends Error {
  override readonly name = 'JobLost';
}

/** Something is asked of the job since it was read: it is as it was but for `wanted`. */
export class JobWanted extends Error {
  override readonly name = 'JobWanted';
  readonly job: Job;

  constructor(job: Job) {
    super(`job ${job.uuid}: ${job.wanted ?? 'nothing'} is asked of it`);
    this.job = job;
  }
}

const unchanged = guard(
  'jobs',
  { uuid: 'text', status: 'text', epoch: 'integer', wanted: 'text', remote_job_id: 'text' },
  ['uuid'],
);
/** Somebody may subscribe at any moment: whoever changes a status must know of it, or it would not be told. */
const subscribed = guard('jobs', { uuid: 'text', subscriptions: 'integer' }, ['uuid']);
const unknown = absent('jobs', { uuid: 'text' });
const notRefused = absent('job_refusals', { uuid: 'text' });
const addJob = insert('jobs', { ...JOB_COLUMNS, subscriptions: 'integer', idempotency_key: 'text' }, ['uuid']);
const saveJob = update('jobs', JOB_COLUMNS, ['uuid']);
const ask = update(
  'jobs',
  { uuid: 'text', status: 'text', wanted: 'text', wanted_by: 'text', last_updated: 'integer' },
  ['uuid', 'status'],
);
const addHistory = insert(
  'job_history',
  {
    uuid: 'text',
    id: 'text',
    event: 'text',
    status: 'text',
    at: 'integer',
    by: 'text',
    description: 'text',
    address: 'text',
  },
  ['uuid', 'id'],
);

export interface JobStoreDeps {
  readonly store: Store;
  readonly recorder: Recorder;
  readonly clock: Pick<Clock, 'now'>;
  /** Of entries of the history: later ones are greater. */
  readonly nextId: EntryIds;
}

export interface Change extends Transition {
  readonly message?: string;
  /** Who did it; the owner unless given. */
  readonly by?: By;
  /** What else changes with it. */
  readonly patch?: Partial<Job>;
}

/** What must be so in the transaction that changes a job; what it throws ends it. It may be called again. */
export type Check = (trx: Transaction<Schema>) => Promise<void>;

/**
 * Jobs as they are stored, and the one way to change one: in one transaction with its history and its event, upon the row as
 * it was read (sheet §2.5). Whoever acts on what is not so any more changes nothing.
 */
export class JobStore {
  readonly #deps: JobStoreDeps;

  constructor(deps: JobStoreDeps) {
    this.#deps = deps;
  }

  async find(uuid: string): Promise<Job | null> {
    const row = await this.#deps.store.read.selectFrom('jobs').selectAll().where('uuid', '=', uuid).executeTakeFirst();
    return row === undefined ? null : jobOf(row);
  }

  /** Who asked what is asked of it. */
  async askedBy(uuid: string): Promise<string | null> {
    const { read } = this.#deps.store;
    const row = await read.selectFrom('jobs').select('wanted_by').where('uuid', '=', uuid).executeTakeFirst();
    return row?.wanted_by ?? null;
  }

  /**
   * Stores a job that was accepted, unless it is there: its message may have been faster.
   * @param address Where its request came from.
   * @param also Stored with it, if it is stored.
   */
  async add(
    job: Job,
    idempotencyKey: string | null,
    address: string | null = null,
    also: readonly Write[] = [],
  ): Promise<void> {
    const by = { user: job.owner, address };
    const accepted = this.#history(job, '0', 'ACCEPTED', 'ACCEPTED', job.accepted, by, job.lastMessage);
    const subscriptions = subscriptionsOf(job);
    const deliveries = deliveriesOf(subscriptions, job, eventsOf(null, job), '0', job.accepted);
    const writes = [
      unknown({ uuid: job.uuid }),
      addJob({ ...storedJob(job), subscriptions: subscriptions.length, idempotency_key: idempotencyKey }),
      accepted,
      ...subscriptions.map(subscriptionWrite),
      ...deliveries,
    ];
    try {
      await this.#deps.recorder.commit([...writes, ...also], [told(job, 'ACCEPTED', job.lastMessage)], job.accepted);
      this.#hint(deliveries);
    } catch (error) {
      const there = error instanceof GuardFailed && error.failed.every(({ statement }) => statement.table === 'jobs');
      if (!there) throw error;
    }
  }

  /** As `add`, of a message: not if its job was told to be refused. */
  async addUnlessRefused(job: Job, idempotencyKey: string | null, address: string | null): Promise<void> {
    try {
      await this.add(job, idempotencyKey, address, [notRefused({ uuid: job.uuid })]);
    } catch (error) {
      if (!(error instanceof GuardFailed)) throw error;
    }
  }

  /**
   * Changes its status. @param also Stored with it.
   * @throws JobLost; JobWanted when something is asked of it first; Error when the machine has no such transition; what
   * `check` throws.
   */
  async change(
    job: Job,
    { patch, message, by, ...transition }: Change,
    also: readonly Write[] = [],
    check: Check | null = null,
  ): Promise<Job> {
    const now = this.#deps.clock.now();
    const next = stepJob(job, transition, now);
    if ('refused' in next) throw new Error(`JOBS_STATE_NO_TRANSITION ${job.uuid}: ${job.status} to ${transition.to}`);
    const { to } = transition;
    const lastMessage = (message ?? transitionText(job.status, to)).slice(0, MOST_MESSAGE);
    // Another process may have changed it in the same millisecond, or have a clock that is ahead.
    const id = this.#deps.nextId(job.lastUpdated);
    const changed: Job = { ...job, ...patch, ...next, lastMessage, lastUpdated: Math.max(now, entryTime(id)) };
    const entry = this.#history(job, id, to, to, now, by ?? job.owner, message ?? DESCRIPTIONS[to]);
    const writes = [this.#guard(job), saveJob(storedJob(changed)), entry, ...also];
    const event = told(changed, job.status, lastMessage);
    for (let { subscriptions } = job; ; ) {
      const deliveries = await this.#deliveries(changed, subscriptions, eventsOf(job.status, changed), id, now);
      const known = subscribed({ uuid: job.uuid, subscriptions });
      const committed = this.#commit([known, ...writes, ...deliveries], event, now, check);
      const subscribedSince = await this.#asRead(job, committed);
      if (subscribedSince === null) {
        this.#hint(deliveries);
        // Its reader looks at once, whatever becomes of the message that is sent besides: also for what may still run of one that ended.
        if (to === 'BLOCKED' || (isTerminal(to) && also.length > 0))
          this.#deps.store.hints.send(RECOVERY_HINT, job.orgId);
        return { ...changed, subscriptions };
      }
      subscriptions = subscribedSince;
    }
  }

  /** Changes what is no status: counters, ids, paths. @throws as `change`. */
  async note(job: Job, patch: Partial<Job>, also: readonly Write[] = []): Promise<Job> {
    const changed: Job = { ...job, ...patch, lastUpdated: this.#now(job) };
    const writes = [this.#guard(job), saveJob(storedJob(changed)), ...also];
    await this.#asRead(job, this.#deps.store.commit(writes));
    return changed;
  }

  /** Somebody asks something of a job that another has. False: it is not as it was read. */
  async want(job: Job, wanted: Wanted | null, by: By, also: readonly Write[] = []): Promise<boolean> {
    const { uuid, status } = job;
    const told = await this.toldEntry(job, 'UPDATED', by, `Job is to ${wanted ?? 'go on as it was'}`);
    const asked = ask({
      uuid,
      status,
      wanted,
      wanted_by: doerOf(by).user,
      last_updated: Math.max(this.#now(job), told.at),
    });
    try {
      await this.#deps.store.commit([this.#guard(job), asked, ...told.writes, ...also]);
      told.stored();
      // No worker has it: whoever looks after it looks at once, whatever becomes of the message that is sent besides.
      if (wanted !== null && !isActive(status)) this.#deps.store.hints.send(WANTED_HINT, job.orgId);
      return true;
    } catch (error) {
      if (error instanceof GuardFailed) return false;
      throw error;
    }
  }

  /** What else happened to it: sharing, hiding, and what is not a status. */
  entry(job: Job, event: string, by: By, description: string): Write {
    return this.#history(
      job,
      this.#deps.nextId(job.lastUpdated),
      event,
      job.status,
      this.#deps.clock.now(),
      by,
      description,
    );
  }

  /** The same, and what is told of it to those who subscribed (sheet §9.2). `at`: no change of the job may be earlier. `stored`: to be called when it is. */
  async toldEntry(
    job: Job,
    event: string,
    by: By,
    description: string,
  ): Promise<{ readonly writes: readonly Write[]; readonly at: number; stored(): void }> {
    const { store, clock, nextId } = this.#deps;
    const [id, now] = [nextId(job.lastUpdated), clock.now()];
    const deliveries = deliveriesOf(await activeSubscriptions(store.read, job.uuid), job, [event], id, now);
    const entry = this.#history(job, id, event, job.status, now, by, description);
    return { writes: [entry, ...deliveries], at: entryTime(id), stored: () => this.#hint(deliveries) };
  }

  #commit(writes: readonly Write[], event: Told, now: number, check: Check | null): Promise<void> {
    const { recorder } = this.#deps;
    if (check === null) return recorder.commit(writes, [event], now);
    return recorder.transact(async (trx, record, write) => {
      await check(trx);
      write(writes);
      record([event]);
    });
  }

  /** It never goes back. */
  #now({ lastUpdated }: Job): number {
    return Math.max(this.#deps.clock.now(), lastUpdated);
  }

  #guard({ uuid, status, epoch, wanted, remoteJobId }: Job): Write {
    return unchanged({ uuid, status, epoch, wanted, remote_job_id: remoteJobId });
  }

  async #deliveries(job: Job, subscriptions: number, events: Events, entry: string, now: number): Promise<Write[]> {
    if (subscriptions === 0) return [];
    const active = await activeSubscriptions(this.#deps.store.read, job.uuid);
    return deliveriesOf(active, job, events, entry, now);
  }

  #hint(deliveries: readonly Write[]): void {
    if (deliveries.length > 0) this.#deps.store.hints.send(DELIVERIES_HINT, '');
  }

  /** How many subscriptions there are now, when that was all that had changed; null: it is stored. */
  async #asRead(job: Job, committed: Promise<void>): Promise<number | null> {
    try {
      await committed;
      return null;
    } catch (error) {
      if (!(error instanceof GuardFailed)) throw error;
      const now = await this.find(job.uuid);
      const onlySubscriptions = error.failed.every(({ statement }) => 'subscriptions' in statement.columns);
      if (onlySubscriptions && now !== null) return now.subscriptions;
      if (now === null || now.epoch !== job.epoch || now.status !== job.status || now.wanted === job.wanted) {
        throw new JobLost(`job ${job.uuid} is not as it was read`, { cause: error });
      }
      throw new JobWanted(now);
    }
  }

  #history({ uuid }: Job, id: string, event: string, status: Status, at: number, by: By, description: string): Write {
    const { user, address } = doerOf(by);
    return addHistory({
      ...{ uuid, id, event, status, at, description },
      by: user,
      address: address?.slice(0, MOST_ADDRESS) ?? null,
    });
  }
}

function doerOf(by: By): Doer {
  return typeof by === 'string' ? { user: by, address: null } : by;
}

type Told = ReturnType<typeof told>;

/** Events know an organization by one object (see `OwnEvents`). */
const organizations = new Map<string, { readonly id: string; readonly name: string }>();

function told(job: Job, from: Status, message: string) {
  let organization = organizations.get(job.orgId);
  if (organization === undefined || organization.name !== job.tenant) {
    organization = { id: job.orgId, name: job.tenant };
    organizations.set(job.orgId, organization);
  }
  return JOB_EVENTS.record(
    statusType(job.status),
    organization,
    { job: job.uuid, status: job.status, from, owner: job.owner, app: job.appId, system: job.systemId },
    { message },
    `job/${job.uuid}`,
  );
}
