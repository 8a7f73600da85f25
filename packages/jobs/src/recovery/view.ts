import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import '../repository/tables.js';
import { DESCRIPTIONS, isTerminal, statusText } from '../status.js';
import type { Job } from '../types.js';
import { ruleOf } from './conditions/index.js';
import { parametersOf } from './grouping.js';
import { expiry } from './policies/index.js';
import type { RecordRow } from './repository.js';

type Read = Kysely<Schema>;

/** A recovery record as administrators see it. */
export interface RecoveryView {
  readonly id: string;
  readonly condition: string;
  readonly tester: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly policy: string;
  readonly policy_parameters: Readonly<Record<string, string>>;
  /** Tests that were not passed. */
  readonly attempts: number;
  readonly last_answer: string | null;
  /** null: its reader has not seen it yet. */
  readonly next_test: string | null;
  readonly since: string | null;
  /** When it is given up at the latest; null: not for the time alone. */
  readonly gives_up: string | null;
  /** Jobs that wait for it. */
  readonly jobs: number;
}

export async function recordsOf(
  read: Read,
  orgId: string,
  page: { readonly limit: number; readonly offset: number },
): Promise<RecoveryView[]> {
  const rows = await read
    .selectFrom('job_recovery')
    .selectAll()
    .where('org_id', '=', orgId)
    // The reader deletes a record some time after the last of its jobs has left it.
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('job_blocked')
          .select('uuid')
          .whereRef('recovery_id', '=', 'job_recovery.id')
          .where('state', '!=', 'releasing'),
      ),
    )
    .orderBy('next_attempt')
    .orderBy('id')
    .limit(page.limit)
    .offset(page.offset)
    .execute();
  const ids = rows.map(({ id }) => id);
  const counts = new Map<string, number>();
  if (ids.length > 0) {
    const counted = await read
      .selectFrom('job_blocked')
      .select(({ fn }) => ['recovery_id', fn.countAll().as('jobs')])
      .where('recovery_id', 'in', ids)
      .where('state', '!=', 'releasing')
      .groupBy('recovery_id')
      .execute();
    for (const { recovery_id: id, jobs } of counted) counts.set(id, Number(jobs));
  }
  return rows.map((row) => view(row, counts.get(row.id) ?? 0));
}

export async function findRecord(read: Read, orgId: string, id: string): Promise<RecordRow | null> {
  const row = await read
    .selectFrom('job_recovery')
    .selectAll()
    .where('id', '=', id)
    .where('org_id', '=', orgId)
    .executeTakeFirst();
  return row ?? null;
}

/** The jobs that wait for it, those first that have waited longest. */
export async function jobsOf(read: Read, id: string, most: number) {
  const rows = await read
    .selectFrom('job_blocked')
    .select(['uuid', 'success_status', 'message', 'created', 'state'])
    .where('recovery_id', '=', id)
    .where('state', '!=', 'releasing')
    .orderBy('created')
    .orderBy('uuid')
    .limit(most)
    .execute();
  return rows.map(({ uuid, success_status: status, message, created, state }) => ({
    job: uuid,
    goes_on_at: state === 'killing' ? null : status,
    message,
    since: time(created),
  }));
}

export async function countOf(read: Read, id: string): Promise<number> {
  const { jobs } = await read
    .selectFrom('job_blocked')
    .select(({ fn }) => fn.countAll().as('jobs'))
    .where('recovery_id', '=', id)
    .where('state', '!=', 'releasing')
    .executeTakeFirstOrThrow();
  return Number(jobs);
}

export function view(row: RecordRow, jobs: number): RecoveryView {
  const policy = parametersOf(row.policy_parameters);
  const seen = row.next_attempt > 0;
  const end = seen ? expiry(policy, row.created) : null;
  return {
    id: row.id,
    condition: row.condition,
    tester: row.tester,
    parameters: parametersOf(row.tester_parameters),
    policy: row.policy,
    policy_parameters: policy,
    attempts: row.attempts,
    last_answer: row.last_answer,
    next_test: seen ? time(row.next_attempt) : null,
    since: seen ? time(row.created) : null,
    gives_up: end === null ? null : time(end),
    jobs,
  };
}

/** What a job does now and why, a line each; and what it waits for while it is blocked. */
export interface Why {
  readonly why: readonly string[];
  readonly recovery: RecoveryView | null;
}

export async function whyJob(read: Read, job: Job): Promise<Why> {
  const { uuid, status, wanted } = job;
  const message = statusText(status, job.lastMessage);
  const ended = `It is ${status} (${job.condition ?? 'no condition'}): ${message}`;
  const asked = wanted === null ? [] : [`Somebody asked for it to ${wanted}; whoever has it does that next.`];
  const row = await read.selectFrom('job_blocked').selectAll().where('uuid', '=', uuid).executeTakeFirst();
  const goesOn = (...why: readonly string[]): Why => ({ why, recovery: null });
  if (row?.state === 'releasing') return goesOn(`It goes on: ${status}. A worker gets it next.`, ...asked);
  const record = row === undefined ? null : await findRecord(read, row.org_id, row.recovery_id);
  if (record !== null) {
    const recovery = view(record, await countOf(read, record.id));
    const says = row?.message ?? '';
    if (isTerminal(status)) return { why: [ended, ...isEnding(recovery, says)], recovery };
    return { why: [...waits(recovery, says), ...asked], recovery };
  }
  if (isTerminal(status)) return goesOn(ended);
  if (status === 'PAUSED')
    return goesOn(`It is paused, and goes on at ${job.resumeAt ?? 'its beginning'} when it is resumed.`, ...asked);
  if (status === 'ACCEPTED') return goesOn(`It waits in the queue ${job.queue} for a worker.`, ...asked);
  const worker = job.worker === null ? 'It waits for a worker.' : `The worker ${job.worker} has it.`;
  const does = message === DESCRIPTIONS[status] ? `${message}.` : `${DESCRIPTIONS[status]}: ${message}`;
  return goesOn(does, worker, ...asked);
}

function waits(recovery: RecoveryView, message: string): readonly string[] {
  const { condition, tester, attempts, jobs } = recovery;
  const says = ruleOf(condition)?.says ?? condition;
  return [
    `It is blocked because ${says} (${condition}): ${message}`,
    `${tester} says when it may go on; so far ${attempts === 0 ? 'it was not asked' : `it was not passed ${attempts} times`}.`,
    ...tests(recovery),
    jobs === 1 ? 'No other job waits beside it.' : `${jobs - 1} other jobs wait beside it.`,
  ];
}

/** Of a job that has ended, whatever is left of it on its system. */
function isEnding(recovery: RecoveryView, message: string): readonly string[] {
  const { attempts } = recovery;
  const so = attempts === 0 ? 'It is being ended there.' : `To end it there was tried ${attempts} times.`;
  return [`${message} ${so}`, ...tests(recovery)];
}

/** What was answered last, when it is asked next, and when no more. */
function tests(recovery: RecoveryView): readonly string[] {
  const { last_answer: answer, next_test: next, gives_up: end, policy, policy_parameters } = recovery;
  const tries = policy_parameters.maxTries;
  return [
    ...(answer === null ? [] : [`It said last: ${answer}.`]),
    next === null ? 'Its recovery reader has not seen it yet.' : `The next test is at ${next}.`,
    end === null && tries === undefined
      ? `${policy} does not give up for the time alone.`
      : `It is given up ${[end === null ? '' : `at ${end}`, tries === undefined ? '' : `after ${tries} tests`].filter(Boolean).join(', or ')}.`,
  ];
}

function time(at: number): string {
  return new Date(at).toISOString();
}
