import type { Recordable, Recorder } from '@muster/platform/log';
import { type Schema, type Store, update, type Write } from '@muster/store';
import type { Kysely, Selectable } from 'kysely';
import '../repository/tables.js';
import type { JobRow } from '../repository/job-row.js';
import { jobOf } from '../repository/job-row.js';
import type { Job } from '../types.js';
import type { RecoveryState } from './machine.js';

export type RecordRow = Selectable<Schema['job_recovery']>;
export type BlockedRow = Selectable<Schema['job_blocked']>;
type Waiting = BlockedRow['state'];

const save = update(
  'job_recovery',
  { id: 'text', attempts: 'integer', last_answer: 'text', next_attempt: 'integer', created: 'integer' },
  ['id'],
);

export function saveRecord(id: string, { attempts, lastAnswer, nextAttempt, created }: RecoveryState): Write {
  return save({ id, attempts, last_answer: lastAnswer, next_attempt: nextAttempt, created });
}

/** What recovery keeps of one organization. */
export class RecoveryRows {
  readonly #store: Store;
  readonly #orgId: string;

  constructor(store: Store, orgId: string) {
    this.#store = store;
    this.#orgId = orgId;
  }

  get #read(): Kysely<Schema> {
    return this.#store.read;
  }

  records(): Promise<RecordRow[]> {
    return this.#read.selectFrom('job_recovery').selectAll().where('org_id', '=', this.#orgId).execute();
  }

  /** Those that no reader has seen. */
  newRecords(): Promise<RecordRow[]> {
    return this.#read
      .selectFrom('job_recovery')
      .selectAll()
      .where('org_id', '=', this.#orgId)
      .where('next_attempt', '=', 0)
      .execute();
  }

  /** Records that nobody waits for. */
  async deserted(): Promise<string[]> {
    const rows = await this.#read
      .selectFrom('job_recovery')
      .select('id')
      .where('org_id', '=', this.#orgId)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('job_blocked')
              .select('uuid')
              .whereRef('recovery_id', '=', 'job_recovery.id')
              .where('state', '!=', 'releasing'),
          ),
        ),
      )
      .execute();
    return rows.map(({ id }) => id);
  }

  record(id: string): Promise<RecordRow | undefined> {
    return this.#read
      .selectFrom('job_recovery')
      .selectAll()
      .where('id', '=', id)
      .where('org_id', '=', this.#orgId)
      .executeTakeFirst();
  }

  /** Those that a job is part of. */
  async of(uuid: string): Promise<BlockedRow | undefined> {
    return this.#read.selectFrom('job_blocked').selectAll().where('uuid', '=', uuid).executeTakeFirst();
  }

  /** When the first of its jobs was blocked; null: none is there. */
  async since(recoveryId: string): Promise<number | null> {
    const { first } = await this.#read
      .selectFrom('job_blocked')
      .select(({ fn }) => fn.min('created').as('first'))
      .where('recovery_id', '=', recoveryId)
      .where('state', '!=', 'releasing')
      .executeTakeFirstOrThrow();
    return first === null ? null : Number(first);
  }

  /** How many wait for the record. */
  async waiting(recoveryId: string): Promise<number> {
    const { count } = await this.#read
      .selectFrom('job_blocked')
      .select(({ fn }) => fn.countAll().as('count'))
      .where('recovery_id', '=', recoveryId)
      .where('state', '!=', 'releasing')
      .executeTakeFirstOrThrow();
    return Number(count);
  }

  /** The first to be blocked first. @param until Blocked no later. @param after What was seen already. */
  batch(recoveryId: string, until: number, after: BlockedRow | null, most: number): Promise<BlockedRow[]> {
    let query = this.#read
      .selectFrom('job_blocked')
      .selectAll()
      .where('recovery_id', '=', recoveryId)
      .where('state', '!=', 'releasing')
      .where('created', '<=', until);
    if (after !== null) {
      query = query.where(({ eb, or, and }) =>
        or([eb('created', '>', after.created), and([eb('created', '=', after.created), eb('uuid', '>', after.uuid)])]),
      );
    }
    return query.orderBy('created').orderBy('uuid').limit(most).execute();
  }

  releasing(most: number): Promise<BlockedRow[]> {
    return this.#read
      .selectFrom('job_blocked')
      .selectAll()
      .where('org_id', '=', this.#orgId)
      .where('state', '=', 'releasing')
      .orderBy('created')
      .limit(most)
      .execute();
  }

  async jobs(uuids: readonly string[]): Promise<ReadonlyMap<string, Job>> {
    if (uuids.length === 0) return new Map();
    const rows = await this.#read.selectFrom('jobs').selectAll().where('uuid', 'in', uuids).execute();
    return new Map(rows.map((row: JobRow) => [row.uuid, jobOf(row)]));
  }

  /** BLOCKED or PAUSED ones of which somebody wants something. */
  async wanted(): Promise<readonly string[]> {
    const rows = await this.#read
      .selectFrom('jobs')
      .select('uuid')
      .where('org_id', '=', this.#orgId)
      .where('status', 'in', ['BLOCKED', 'PAUSED'])
      .where('wanted', 'is not', null)
      .execute();
    return rows.map(({ uuid }) => uuid);
  }

  /** Who asked. */
  async wantedBy(uuid: string): Promise<string | null> {
    const row = await this.#read.selectFrom('jobs').select('wanted_by').where('uuid', '=', uuid).executeTakeFirst();
    return row?.wanted_by ?? null;
  }

  /** BLOCKED ones that wait for nothing. */
  async lost(): Promise<readonly string[]> {
    const rows = await this.#read
      .selectFrom('jobs')
      .leftJoin('job_blocked', 'job_blocked.uuid', 'jobs.uuid')
      .select('jobs.uuid')
      .where('jobs.org_id', '=', this.#orgId)
      .where('jobs.status', '=', 'BLOCKED')
      .where('job_blocked.uuid', 'is', null)
      .execute();
    return rows.map(({ uuid }) => uuid);
  }

  /** Rows of jobs that are not BLOCKED any more: a reader died before it had deleted them. */
  async dropStale(): Promise<void> {
    const rows = await this.#read
      .selectFrom('job_blocked')
      .innerJoin('jobs', 'jobs.uuid', 'job_blocked.uuid')
      .select('job_blocked.uuid')
      .where('job_blocked.org_id', '=', this.#orgId)
      .where('job_blocked.state', '=', 'waiting')
      .where('jobs.status', '!=', 'BLOCKED')
      .execute();
    await this.drop(
      rows.map(({ uuid }) => uuid),
      'waiting',
    );
  }

  /** Those that stand so still: one may have been blocked again meanwhile. */
  async drop(uuids: readonly string[], state: Waiting): Promise<void> {
    if (uuids.length === 0) return;
    await this.#store.transact((trx) =>
      trx.deleteFrom('job_blocked').where('uuid', 'in', uuids).where('state', '=', state).execute(),
    );
  }

  /** The very row that was read. */
  async dropRow({ uuid, state, created }: BlockedRow): Promise<void> {
    await this.#store.transact((trx) =>
      trx
        .deleteFrom('job_blocked')
        .where('uuid', '=', uuid)
        .where('state', '=', state)
        .where('created', '=', created)
        .execute(),
    );
  }

  /**
   * Deletes the record unless somebody waits for it. Its row is locked first, as by whoever joins: so nobody joins between the
   * look and the end. False: somebody waits. @param told Recorded with it.
   */
  deleteRecord(recorder: Pick<Recorder, 'transact'>, id: string, told: Recordable): Promise<boolean> {
    return recorder.transact(async (trx, record) => {
      const locked = await trx
        .updateTable('job_recovery')
        .set(({ ref }) => ({ last_updated: ref('last_updated') }))
        .where('id', '=', id)
        .executeTakeFirst();
      if (Number(locked.numUpdatedRows) === 0) return true;
      const waiting = await trx
        .selectFrom('job_blocked')
        .select('uuid')
        .where('recovery_id', '=', id)
        .where('state', '!=', 'releasing')
        .limit(1)
        .executeTakeFirst();
      if (waiting !== undefined) return false;
      await trx.deleteFrom('job_recovery').where('id', '=', id).execute();
      record([told]);
      return true;
    });
  }
}
