import type { PastRun } from './history.js';
import type { LiveSchedule } from './live-schedule.js';
import type { RunStatus } from './runs.js';
import type { Work } from './types.js';

const time = (ms: number): string => new Date(ms).toISOString();
const timeOrNull = (ms: number | null): string | null => (ms === null ? null : time(ms));

const NEXT_RUNS = 5;
const LOOKED_AT = 200;
/** Later ones are not looked for: of calendars that never open there are none. */
const AHEAD_MS = 2 * 366 * 86_400_000;

export interface ShownAlong {
  /** Of a queue, while there is one. */
  readonly queueName: (id: string) => string | null;
  readonly statuses: Statuses;
}

type Statuses = ReadonlyMap<string, RunStatus>;

/** A schedule of a list. */
export function scheduleView(live: LiveSchedule, { queueName, statuses }: ShownAlong) {
  const { schedule, state } = live;
  const { work } = schedule;
  const { last, missed } = state;
  return {
    id: schedule.id,
    name: schedule.name,
    cron: schedule.cron,
    timezone: schedule.timezone,
    missed: schedule.missed,
    overlap: schedule.overlap,
    not_during: [...schedule.notDuring],
    blackout: schedule.blackout,
    state: state.status,
    reason: state.reason,
    kind: work.kind,
    queue: work.kind === 'task' ? queueName(work.queueId) : null,
    command: work.kind === 'push' ? work.command : null,
    owner: schedule.owner.name,
    approval: schedule.agreement?.approval ?? null,
    next_run: timeOrNull(nextRuns(live, 1)[0] ?? null),
    waiting_since: timeOrNull(state.waitingAt),
    waiting_for: state.blackout && { calendar: state.blackout.calendar, until: time(state.blackout.until) },
    last_run: last && {
      due_at: time(last.dueAt),
      started_at: time(last.startedAt),
      ...runView(work.kind, last.run),
      status: statuses.get(last.run)?.status ?? null,
    },
    last_missed: missed && { due_at: time(missed.dueAt), reason: missed.reason },
    created_at: time(schedule.createdAt),
    updated_at: time(schedule.updatedAt),
  };
}

/** A single schedule. */
export function scheduleDetail(live: LiveSchedule, work: Work, along: ShownAlong) {
  return { ...scheduleView(live, along), next_runs: nextRuns(live, NEXT_RUNS).map(time), ...workView(work, along) };
}

/** Of what falls into a calendar none, or the end of that; of very many calendars one after the other those that are found. */
function nextRuns({ state, rules }: LiveSchedule, most: number): readonly number[] {
  const { cron, blackout: rule, blackoutAt } = rules;
  const next = new Set<number>();
  let looked = 0;
  const end = (state.nextAt ?? 0) + AHEAD_MS;
  for (let at = state.nextAt; at !== null && at <= end && next.size < most && looked < LOOKED_AT; ) {
    looked++;
    const blackout = blackoutAt(at);
    if (blackout === null) next.add(at);
    else if (rule === 'wait' && !blackout.goesOn) next.add(blackout.until);
    at = cron.after(blackout === null ? at : Math.max(at, blackout.until - 1));
  }
  return [...next];
}

export function runView(kind: Work['kind'], run: string) {
  return { task: kind === 'task' ? run : null, job: kind === 'push' ? run : null };
}

/** One of its past times. */
export function pastRunView({ at, due_at, outcome, kind, run, count, reason }: PastRun, statuses: Statuses) {
  const started = run === null ? { task: null, job: null } : runView(kind, run);
  const status = run === null ? null : (statuses.get(run)?.status ?? null);
  return { at: time(at), due_at: time(due_at), outcome, ...started, status, count, reason };
}

function workView(work: Work, { queueName }: ShownAlong) {
  if (work.kind === 'task') {
    const { place: _, ...options } = work.options;
    return { task: { queue: queueName(work.queueId), params: work.params, ...options }, push: null };
  }
  const { file, ...job } = work.job;
  return { task: null, push: { ...job, ...(file !== undefined && { file_specified: true }) } };
}
