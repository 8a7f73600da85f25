import { type Schema, upsert, type Write } from '@muster/store';
import type { Kysely, Selectable } from 'kysely';
import type { ScheduleEffect } from './machine.js';
import './tables.js';
import type { Schedule } from './types.js';

/** What became of the times of schedules, as far as it is known: see `TASK_LIMITS.historyMs`. */

type Row = Selectable<Schema['schedule_runs']>;
export type PastRun = Omit<Row, 'id' | 'org_id' | 'schedule_id'>;

const writeRun: (row: Row) => Write = upsert(
  'schedule_runs',
  {
    schedule_id: 'text',
    id: 'text',
    org_id: 'text',
    at: 'integer',
    due_at: 'integer',
    outcome: 'text',
    kind: 'text',
    run: 'text',
    count: 'integer',
    reason: 'text',
  },
  ['schedule_id', 'id'],
);

function about({ id, org, work }: Schedule): Pick<Row, 'kind' | 'org_id' | 'schedule_id'> {
  return { schedule_id: id, org_id: org.id, kind: work.kind };
}

export function noteStarted(schedule: Schedule, dueAt: number, run: string, now: number): Write {
  const started = { outcome: 'started', run, count: 1, reason: null } as const;
  return writeRun({ ...about(schedule), id: run, at: now, due_at: dueAt, ...started });
}

/** Times at which a step started nothing. */
export function noteMissed(schedule: Schedule, effects: readonly ScheduleEffect[], now: number): Write[] {
  return effects.flatMap((effect) => {
    if (effect.type !== 'missed') return [];
    const { firstAt, lastAt, count, reason } = effect;
    const missed = { outcome: 'missed', run: null, count, reason } as const;
    return [writeRun({ ...about(schedule), id: `missed-${firstAt}`, at: now, due_at: lastAt, ...missed })];
  });
}

/** The newest first. */
export function pastRuns(
  read: Kysely<Schema>,
  { id }: Pick<Schedule, 'id'>,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<readonly PastRun[]> {
  return read
    .selectFrom('schedule_runs')
    .select(['at', 'due_at', 'outcome', 'kind', 'run', 'count', 'reason'])
    .where('schedule_id', '=', id)
    .orderBy('at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute();
}
