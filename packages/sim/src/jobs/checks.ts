import type { Launch } from '@muster/jobs/parts';
import type { Batch } from '@muster/store';
import type { Coverage } from '../kernel/coverage.js';
import type { Timeline } from '../kernel/timeline.js';
import { Violation } from '../kernel/violation.js';
import { isLegal, isWorkedOn, TERMINAL } from './legal.js';
import type { Moment } from './moments.js';
import { INPUT } from './organization.js';
import type { RemoteSystem } from './remote/system.js';
import type { Witness } from './remote/systems.js';

/** What is stored of a job, as far as rules look at it. */
export interface StoredJob {
  readonly uuid: string;
  readonly status: string;
  readonly resumeAt: string | null;
  readonly blockedCount: number;
  readonly ended: number | null;
  readonly condition: string | null;
  readonly wanted: string | null;
  readonly worker: string | null;
  readonly epoch: number;
  readonly remoteJobId: string | null;
  readonly workPath: string | null;
  readonly archivePath: string | null;
}

type Row = Readonly<Record<string, unknown>>;

/** Who took a job last, and what they know of its program. */
interface Taken {
  readonly epoch: number;
  readonly holder: string;
  /** The scheduler was asked for the program since. */
  asked: boolean;
}

/** Who has a lease, and when that was stored last. */
interface Holding {
  readonly holder: string;
  readonly at: number;
}

/** By how leases are called: how long whoever renewed one may act. Those of readers are the longest. */
const LEASES_MS: readonly (readonly [prefix: string, ms: number])[] = [
  ['job-worker/', 6_000],
  ['broker.', 10_000],
  ['', 12_000],
];

export interface CheckedWorld {
  readonly timeline: Pick<Timeline, 'now'>;
  readonly coverage: Coverage;
  met(holder: string, at: Moment): void;
  readonly report: (violation: Violation) => void;
}

/** The rules that hold after every commit, and whenever somebody acts for a job. */
export class Checks implements Witness {
  readonly jobs = new Map<string, StoredJob>();
  /** The way of each: the statuses that it entered. */
  readonly ways = new Map<string, string[]>();
  /** Jobs whose submission was refused: nobody is to run them. */
  readonly refused = new Set<string>();
  /** Rows of recovery, by job: how it waits. */
  readonly #blocked = new Map<string, string>();
  readonly #taken = new Map<string, Taken>();
  readonly #blocks = new Map<string, number>();
  readonly #leases = new Map<string, Holding>();
  readonly #world: CheckedWorld;
  programs = 0;

  constructor(world: CheckedWorld) {
    this.#world = world;
  }

  // --- what is stored

  /** @param holder Of the process that stored it. @returns what it has come to with that */
  stored(holder: string, batch: Batch): readonly Moment[] {
    for (const { statement, rows } of batch) {
      if (statement.kind === 'guard' || statement.kind === 'absent') continue;
      if (statement.table === 'job_blocked') {
        for (const row of rows) this.#blocked.set(String(row.uuid), String(row.state));
      }
      if (statement.table === 'leases') for (const row of rows) this.#lease(row);
      if (statement.table === 'job_refusals') for (const row of rows) this.refused.add(String(row.uuid));
    }
    const moments: Moment[] = [];
    for (const { statement, rows } of batch) {
      if (statement.table !== 'jobs' || statement.kind === 'guard' || statement.kind === 'absent') continue;
      moments.push('commit');
      if (rows.some(({ status }) => status === 'BLOCKED')) moments.push('blocking');
      for (const row of rows) this.#job(holder, row, batch);
    }
    return moments;
  }

  /** Of two that have a lease one after the other, the time of the first is over before the second begins, whatever their clocks say. */
  #lease({ name, holder }: Row): void {
    const { timeline, coverage } = this.#world;
    const lease = String(name);
    const before = this.#leases.get(lease);
    if (holder === null) return void this.#leases.delete(lease);
    if (before !== undefined && before.holder !== holder) {
      coverage.reach('a lease is taken from who did not give it back');
      const [, ms = 0] = LEASES_MS.find(([prefix]) => lease.startsWith(prefix)) ?? [];
      const sinceMs = timeline.now - before.at;
      const detail = `${holder} has ${lease} ${sinceMs} ms after ${before.holder} was given ${ms} ms`;
      if (sinceMs < ms) this.#broken('no two act at the same time', detail);
    }
    this.#leases.set(lease, { holder: String(holder), at: timeline.now });
  }

  #job(holder: string, row: Row, batch: Batch): void {
    const uuid = String(row.uuid);
    const before = this.jobs.get(uuid);
    // An upsert of one that is there changes nothing; what asks something changes a few columns.
    const whole = 'epoch' in row;
    if (before !== undefined && 'idempotency_key' in row) return;
    if (before === undefined && !whole) return;
    const after = whole ? jobOf(row) : { ...(before as StoredJob), wanted: text(row.wanted) };
    this.jobs.set(uuid, after);
    if (before === undefined) {
      this.ways.set(uuid, [after.status]);
      this.#told(after, batch);
    } else if (whole) this.#step(holder, before, after, batch);
  }

  #step(holder: string, before: StoredJob, after: StoredJob, batch: Batch): void {
    const { uuid } = after;
    const { coverage } = this.#world;
    const entered = historyOf(batch, uuid).some(({ event }) => event === after.status);
    if (before.status !== after.status || entered) {
      coverage.reach(`job: ${before.status} to ${after.status}`);
      this.ways.get(uuid)?.push(after.status);
      if (!isLegal(before.status, after.status)) {
        this.#broken('a legal way', `${uuid} from ${before.status} to ${after.status}`);
      }
      this.#told(after, batch);
    }
    this.#who(holder, before, after);
    this.#end(before, after);
    this.#blocking(before, after, batch);
  }

  /** Each status with its entry in the history and its event, in one commit. */
  #told({ uuid, status }: StoredJob, batch: Batch): void {
    if (!historyOf(batch, uuid).some(({ event }) => event === status)) {
      this.#broken('each status is in the history', `${uuid} is ${status}`);
    }
    const type = `job.${status.toLowerCase()}\n`;
    const told = batch.some(
      ({ statement, rows }) =>
        statement.table === 'event_log' &&
        rows.some(({ subject, frames }) => subject === `job/${uuid}` && Buffer.from(frames as Buffer).includes(type)),
    );
    if (!told) this.#broken('each status is told', `${uuid} is ${status}`);
  }

  #who(holder: string, before: StoredJob, after: StoredJob): void {
    const { uuid } = after;
    if (after.epoch < before.epoch || after.epoch > before.epoch + 1) {
      this.#broken('epochs grow one by one', `${uuid} from ${before.epoch} to ${after.epoch}`);
    }
    if (after.epoch > before.epoch) {
      if (this.#taken.has(uuid)) this.#world.coverage.reach('a job is taken over');
      this.#taken.set(uuid, { epoch: after.epoch, holder, asked: false });
      return;
    }
    const taken = this.#taken.get(uuid);
    if (isWorkedOn(before.status) && taken !== undefined && taken.holder !== holder) {
      this.#broken('who lost the job writes nothing', `${holder} writes ${uuid}, which ${taken.holder} has`);
    }
  }

  #end(before: StoredJob, after: StoredJob): void {
    if (TERMINAL.has(after.status) && after.ended === null) this.#broken('an end has its time', after.uuid);
    if (!TERMINAL.has(before.status)) return;
    const same = (['status', 'ended', 'condition'] as const).every((name) => before[name] === after[name]);
    if (!same) this.#broken('what ended stays', `${after.uuid} was ${before.status}, and is ${after.status}`);
  }

  #blocking(before: StoredJob, after: StoredJob, batch: Batch): void {
    const { uuid } = after;
    if (after.status === 'BLOCKED' && before.status !== 'BLOCKED') {
      this.#blocks.set(uuid, (this.#blocks.get(uuid) ?? 0) + 1);
      this.#world.coverage.reach(`blocked: ${after.condition}`);
      const rows = batch.flatMap(({ statement, rows }) => (statement.table === 'job_blocked' ? rows : []));
      const row = rows.find((one) => one.uuid === uuid && one.state === 'waiting');
      const known = batch.some(
        ({ statement, rows: records }) =>
          statement.table === 'job_recovery' && records.some(({ id }) => id === row?.recovery_id),
      );
      if (row === undefined || !known) this.#broken('what is blocked has a reason', uuid);
    }
    if (after.blockedCount !== (this.#blocks.get(uuid) ?? 0)) {
      this.#broken(
        'blockedCount',
        `${uuid} says ${after.blockedCount}, and was blocked ${this.#blocks.get(uuid) ?? 0}`,
      );
    }
  }

  // --- what is in the broker

  /** From now on its message counts, not the row that says that it is to be published. */
  published(uuid: string): void {
    if (this.#blocked.get(uuid) === 'releasing') this.#blocked.delete(uuid);
  }

  /** A message of a job was acknowledged. @param left Whether there are others of it. */
  acknowledged(uuid: string, left: boolean): void {
    const job = this.jobs.get(uuid);
    const waits = job !== undefined && (job.status === 'ACCEPTED' || isWorkedOn(job.status));
    if (!waits || left || this.#blocked.get(uuid) === 'releasing' || this.refused.has(uuid)) return;
    this.#broken('a job keeps its message', `${uuid} is ${job.status}, and its last message is gone`);
  }

  // --- what is done on systems

  acts(holder: string, uuid: string, what: string): void {
    const taken = this.#taken.get(uuid);
    const job = this.jobs.get(uuid);
    if (job === undefined || taken === undefined)
      return this.#broken('nothing is done for unknown jobs', `${uuid} ${what}`);
    if (TERMINAL.has(job.status)) return;
    if (taken.holder !== holder) {
      this.#broken('who lost the job does nothing', `${holder} ${what} of ${uuid}, which ${taken.holder} has`);
    }
  }

  asked(holder: string, uuid: string, known: boolean): void {
    const taken = this.#taken.get(uuid);
    if (taken?.holder === holder) taken.asked = true;
    if (known) this.#world.coverage.reach('a program that nobody knew of is found again');
  }

  /** The first attempt at all need not ask; each other one does. */
  submits(holder: string, uuid: string, system: RemoteSystem): void {
    const taken = this.#taken.get(uuid);
    if (taken?.holder !== holder || taken.asked) return;
    if (system.programs.has(uuid)) this.#broken('a program is submitted once', `${uuid} by ${holder}`);
  }

  submitted(holder: string, launch: Launch, first: boolean, system: RemoteSystem): void {
    const { uuid, script, workDirectory } = launch;
    this.#world.met(holder, 'submission');
    if (!first) return this.#world.coverage.reach('two submissions of a program cross');
    this.programs += 1;
    if (!system.files.has(script)) this.#broken('nothing starts before it is staged', uuid);
    if (system.files.get(`${workDirectory}/${INPUT.name}`)?.bytes.toString() !== INPUT.text) {
      this.#broken('inputs are whole when the program starts', uuid);
    }
    const job = this.jobs.get(uuid);
    if (job === undefined || TERMINAL.has(job.status))
      this.#world.coverage.reach('a program starts after its job ended');
  }

  #broken(rule: string, detail: string): void {
    this.#world.report(new Violation(rule, detail));
  }
}

function historyOf(batch: Batch, uuid: string): readonly Row[] {
  return batch.flatMap(({ statement, rows }) =>
    statement.table === 'job_history' ? rows.filter((row) => row.uuid === uuid) : [],
  );
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function number(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

function jobOf(row: Row): StoredJob {
  return {
    uuid: String(row.uuid),
    status: String(row.status),
    resumeAt: text(row.resume_at),
    blockedCount: Number(row.blocked_count),
    ended: number(row.ended),
    condition: text(row.condition),
    wanted: text(row.wanted),
    worker: text(row.worker),
    epoch: Number(row.epoch),
    remoteJobId: text(row.remote_job_id),
    workPath: text(row.work_path),
    archivePath: text(row.archive_path),
  };
}
