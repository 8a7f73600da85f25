import type { Command } from 'commander';
import { printable } from '../../printable.js';
import type { Call, Shell } from '../../shell.js';
import { saidText, timeText, zonedTimeText } from '../../summary.js';
import { notDuringText } from '../not-during.js';
import { addList as addListOf, addShow as addShowOf } from '../resource.js';
import { addRuns } from '../runs.js';
import type { PastRun, Schedule, ScheduleDetail } from './api.js';

export function addList(schedule: Command, shell: Shell): void {
  addListOf<Schedule>(schedule, shell, {
    summary: 'schedules with their next and their last run, and what became of it',
    examples: ['muster schedule list', 'muster schedule list --json'],
    read: ({ client }) => client.get(client.inOrg('schedules')),
    columns: {
      Schedule: ({ name }) => name,
      State: ({ state }) => state,
      When: ({ cron }) => cron,
      Next: ({ next_run, timezone }) => (next_run === null ? null : zonedTimeText(next_run, timezone)),
      Last: ({ last_run }) => timeText(last_run?.started_at),
      Outcome: outcome,
      What: ({ kind, queue, command }) => (kind === 'task' ? `task of ${queue ?? 'a queue that is gone'}` : command),
    },
    status: 'State',
    look: { fit: true },
    none: 'no schedules yet: muster schedule create NAME --cron CRON --queue QUEUE',
  });
}

/** Of the last time at which it was due: how the run stands, or why there was none. */
function outcome({ last_run: run, last_missed: missed, reason }: Schedule): string | null {
  if (reason !== null) return saidText(reason);
  const later = missed !== null && (run === null || Date.parse(missed.due_at) > Date.parse(run.due_at));
  if (later) return `missed: ${saidText(missed.reason)}`;
  return run === null ? null : (run.status ?? 'deleted');
}

export function addShow(schedule: Command, shell: Shell): void {
  addShowOf<ScheduleDetail>(schedule, shell, {
    usage: 'show <schedule>',
    summary: 'a schedule with what it runs, and its next five times',
    examples: ['muster schedule show nightly'],
    read: ({ client }, name) => client.get(client.inOrg('schedules', name)),
    tell,
  });
}

export function tell({ out }: Call<object>, schedule: ScheduleDetail): void {
  const { last_run: run, last_missed: missed } = schedule;
  const given = (title: string, value: string | null): [string, string][] => (value === null ? [] : [[title, value]]);
  out.fields([
    ['Schedule', schedule.name],
    ['Id', schedule.id],
    ['State', schedule.state],
    ...given('Reason', schedule.reason),
    ['When', `${schedule.cron} in ${schedule.timezone}`],
    ['Missed', schedule.missed],
    ['Overlap', schedule.overlap],
    ...given(
      'Not during',
      schedule.not_during.length === 0 ? null : notDuringText(schedule.not_during, schedule.blackout),
    ),
    ...given('Queue', schedule.queue),
    ...(schedule.kind === 'task' ? workFields(schedule.task) : workFields(schedule.push)),
    ['Runs for', schedule.owner],
    ...given('Granted by', schedule.approval && `approval ${schedule.approval}`),
    ...given('Last run', run && `${timeText(run.started_at)}  ${run.status ?? 'deleted'}  ${run.task ?? run.job}`),
    ...given('Last missed', missed && `${timeText(missed.due_at)}  ${saidText(missed.reason)}`),
    ...given('Waiting', waiting(schedule)),
    ...schedule.next_runs.map((at, index): [string, string] => [
      index === 0 ? 'Next' : '',
      zonedTimeText(at, schedule.timezone),
    ]),
    ...given('Next', neverOpen(schedule, 'none')),
  ]);
}

type Coming = Pick<Schedule, 'next_run' | 'not_during' | 'state'>;

/** Of one that is active and does not run: that nothing comes, and why; null: something does, or it is not active. */
function neverOpen({ next_run, state, not_during: names }: Coming, nothing: string): string | null {
  if (next_run !== null || state !== 'active' || names.length === 0) return null;
  const calendars = `${names.length === 1 ? 'calendar' : 'calendars'} ${names.join(', ')}`;
  return `${nothing}: as far as can be seen, each of its times falls into ${calendars}`;
}

/** Null: not at all. */
export function runsNext(schedule: Coming & Pick<Schedule, 'timezone'>): string | null {
  const { next_run: next, timezone } = schedule;
  return next === null ? neverOpen(schedule, 'no run is due') : `it runs next at ${zonedTimeText(next, timezone)}`;
}

function waiting({ waiting_since: since, waiting_for: blackout }: Schedule): string | null {
  if (since === null) return null;
  const run = `the run of ${timeText(since)}`;
  return blackout === null ? run : `${run}, for calendar ${blackout.calendar} until ${timeText(blackout.until)}`;
}

function workFields(work: Readonly<Record<string, unknown>> | null): [string, string][] {
  const named = Object.entries(work ?? {}).filter(([name]) => name !== 'queue');
  return named.map(([name, value]) => {
    const title = (name[0]?.toUpperCase() ?? '') + name.slice(1).replaceAll('_', ' ');
    return [printable(title), textOf(value)];
  });
}

/** Names, such as those of nodes, as they are; what has a shape of its own as JSON. */
function textOf(value: unknown): string {
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value.join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export function addHistory(schedule: Command, shell: Shell): void {
  addRuns<PastRun>(schedule, shell, {
    one: 'schedule',
    resources: 'schedules',
    summary: 'what a schedule has started, or missed, newest first',
    example: 'nightly',
    columns: {
      When: ({ at }) => timeText(at),
      Due: ({ due_at }) => timeText(due_at),
      Outcome: ({ outcome, status }) => (outcome === 'missed' ? outcome : (status ?? 'deleted')),
      Run: ({ task, job }) => task ?? job,
      Times: ({ count }) => count,
      Reason: ({ reason }) => reason && saidText(reason),
    },
  });
}
