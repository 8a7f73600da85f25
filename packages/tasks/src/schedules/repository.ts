import type { Organization } from '@muster/platform/auth';
import type { Agreement } from '@muster/push';
import { type Schema, update, upsert, type Write } from '@muster/store';
import type { Kysely, Selectable } from 'kysely';
import type { ScheduleState } from './machine.js';
import './tables.js';
import type { BlackoutRule, Missed, Overlap, Schedule, Work, WorkBrief } from './types.js';

export type ScheduleRow = Selectable<Schema['schedules']>;
/** What is kept in memory. */
export type BriefRow = Omit<ScheduleRow, 'work'>;

const STATE = {
  status: 'text',
  reason: 'text',
  next_at: 'integer',
  waiting_at: 'integer',
  last_due_at: 'integer',
  last_started_at: 'integer',
  last_run: 'text',
  missed_at: 'integer',
  missed_reason: 'text',
  blackout_until: 'integer',
  blackout_calendar: 'text',
} as const;

const writeSchedule: (row: ScheduleRow) => Write = upsert(
  'schedules',
  {
    id: 'text',
    org_id: 'text',
    name: 'text',
    cron: 'text',
    timezone: 'text',
    missed: 'text',
    overlap: 'text',
    not_during: 'text',
    blackout: 'text',
    kind: 'text',
    queue_id: 'text',
    command: 'text',
    work: 'text',
    approval: 'text',
    owner_id: 'text',
    owner_type: 'text',
    owner_name: 'text',
    created_at: 'integer',
    updated_at: 'integer',
    ...STATE,
  },
  ['id'],
);

const writeState: (row: StateRow) => Write = update('schedules', { id: 'text', ...STATE }, ['id']);

type StateRow = Pick<ScheduleRow, 'id' | keyof typeof STATE>;

/** All of it. */
export function saveSchedule(schedule: Schedule, state: ScheduleState, work: Work): Write {
  const { id, org, name, cron, timezone, missed, overlap, blackout, owner, createdAt, updatedAt } = schedule;
  return writeSchedule({
    ...stateRow(id, state),
    org_id: org.id,
    name,
    cron,
    timezone,
    missed,
    overlap,
    not_during: JSON.stringify(schedule.notDuring),
    blackout,
    kind: work.kind,
    queue_id: work.kind === 'task' ? work.queueId : null,
    command: schedule.work.kind === 'push' ? schedule.work.command : null,
    work: JSON.stringify(work),
    approval: schedule.agreement && JSON.stringify(schedule.agreement),
    owner_id: owner.principalId,
    owner_type: owner.type,
    owner_name: owner.name,
    created_at: createdAt,
    updated_at: updatedAt,
  });
}

/** How it stands. */
export function saveState(id: string, state: ScheduleState): Write {
  return writeState(stateRow(id, state));
}

function stateRow(id: string, { status, reason, nextAt, waitingAt, blackout, last, missed }: ScheduleState): StateRow {
  return {
    id,
    status,
    reason,
    next_at: nextAt,
    waiting_at: waitingAt,
    last_due_at: last?.dueAt ?? null,
    last_started_at: last?.startedAt ?? null,
    last_run: last?.run ?? null,
    missed_at: missed?.dueAt ?? null,
    missed_reason: missed?.reason ?? null,
    blackout_until: blackout?.until ?? null,
    blackout_calendar: blackout?.calendar ?? null,
  };
}

export function scheduleOf(row: BriefRow, org: Organization): Schedule {
  return {
    id: row.id,
    org,
    name: row.name,
    cron: row.cron,
    timezone: row.timezone,
    missed: row.missed as Missed,
    overlap: row.overlap as Overlap,
    notDuring: JSON.parse(row.not_during) as string[],
    blackout: row.blackout as BlackoutRule,
    work: briefOf(row),
    agreement: row.approval === null ? null : (JSON.parse(row.approval) as Agreement),
    owner: { principalId: row.owner_id, type: row.owner_type, name: row.owner_name },
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function briefOf({ queue_id, command }: BriefRow): WorkBrief {
  return queue_id === null ? { kind: 'push', command: command ?? '' } : { kind: 'task', queueId: queue_id };
}

export function stateOf(row: BriefRow): ScheduleState {
  const { last_due_at, last_started_at, last_run, missed_at, missed_reason, blackout_until, blackout_calendar } = row;
  return {
    status: row.status,
    reason: row.reason,
    nextAt: row.next_at,
    waitingAt: row.waiting_at,
    blackout: blackout_until === null ? null : { until: blackout_until, calendar: blackout_calendar ?? '' },
    last: last_run === null ? null : { run: last_run, dueAt: last_due_at ?? 0, startedAt: last_started_at ?? 0 },
    missed: missed_at === null ? null : { dueAt: missed_at, reason: missed_reason ?? '' },
  };
}

type Read = Kysely<Schema>;

export function allSchedules(read: Read): Promise<BriefRow[]> {
  return read
    .selectFrom('schedules')
    .select(['id', 'org_id', 'name', 'cron', 'timezone', 'missed', 'overlap', 'kind', 'queue_id', 'command'])
    .select(['approval', 'owner_id', 'owner_type', 'owner_name', 'created_at', 'updated_at'])
    .select(['status', 'reason', 'next_at', 'waiting_at', 'last_due_at', 'last_started_at', 'last_run'])
    .select(['missed_at', 'missed_reason', 'not_during', 'blackout', 'blackout_until', 'blackout_calendar'])
    .execute();
}

/** What it runs. */
export async function workOf(read: Read, id: string): Promise<Work | undefined> {
  const row = await read.selectFrom('schedules').select('work').where('id', '=', id).executeTakeFirst();
  return row && (JSON.parse(row.work) as Work);
}

/** The codes of these tasks; those that are gone are left out. */
export async function taskStatuses(read: Read, ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
  if (ids.length === 0) return new Map();
  const rows = await read.selectFrom('tasks').select(['id', 'status']).where('id', 'in', ids).execute();
  return new Map(rows.map(({ id, status }) => [id, status]));
}
