import { type Static, Type } from 'typebox';
import { CALENDAR_LIMITS } from '../calendars/limits.js';
import { TASK_LIMITS } from '../limits.js';
import { BLACKOUTS, MISSED, OVERLAPS, SCHEDULE_STATUSES } from './types.js';

/** Shapes of requests and answers, for validation and for /openapi.json. */

const STRICT = { additionalProperties: false } as const;

const words = <const W extends readonly string[]>(list: W, description: string) =>
  Type.Unsafe<W[number]>(
    Type.Union(
      list.map((word) => Type.Literal(word)),
      { description },
    ),
  );
const segment = () => Type.String({ minLength: 1, maxLength: TASK_LIMITS.name });
const loose = (description: string) => Type.Object({}, { additionalProperties: true, description });

export const OrgParams = Type.Object({ org: segment() });
export const ScheduleParams = Type.Object({ org: segment(), schedule: segment() });

const TIMING = {
  cron: Type.String({
    description:
      'Minute, hour, day of the month, month, day of the week: `0 3 * * mon-fri`; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`',
  }),
  timezone: Type.String({ description: 'Whose clocks that means, such as `Europe/Berlin`; `UTC` unless given' }),
  missed: words(
    MISSED,
    'Times at which the server was not there: `run-once` makes up for the last of them (as it is unless given), `skip` for none',
  ),
  overlap: words(
    OVERLAPS,
    'When the run before goes on: `skip` leaves the time out (as it is unless given), `queue` runs when it has ended (one waits at most), `allow` runs beside it',
  ),
  not_during: Type.Array(Type.String({ maxLength: TASK_LIMITS.name }), {
    maxItems: CALENDAR_LIMITS.heeded,
    description: 'Names of calendars: nothing is run at their times; none unless given',
  }),
  blackout: words(
    BLACKOUTS,
    'What becomes of a time that falls into one of these calendars: `skip` leaves it out (as it is unless given), `wait` runs it at the end, once',
  ),
};

/** `readWork` checks what this only describes. */
const WORK = {
  task: loose(
    'The task that is added: `queue`, and as for adding one `params`, `priority`, `retries`, `timeout`. Either this or `push`',
  ),
  push: loose('The push job that is started, as in the body of `startPushJob`: `command`, `nodes` or `search`, …'),
};

export const ScheduleBody = Type.Object(
  {
    name: Type.String({ description: 'Unique in the organization' }),
    cron: TIMING.cron,
    timezone: Type.Optional(TIMING.timezone),
    missed: Type.Optional(TIMING.missed),
    overlap: Type.Optional(TIMING.overlap),
    not_during: Type.Optional(TIMING.not_during),
    blackout: Type.Optional(TIMING.blackout),
    paused: Type.Optional(Type.Boolean({ description: 'It does not run until it is resumed' })),
    task: Type.Optional(WORK.task),
    push: Type.Optional(WORK.push),
  },
  STRICT,
);
export type ScheduleBodyFields = Static<typeof ScheduleBody>;

export const ScheduleChangesBody = Type.Partial(Type.Object({ ...TIMING, ...WORK }), STRICT);
export type ScheduleChangesFields = Static<typeof ScheduleChangesBody>;

const Time = Type.String({ format: 'date-time' });
const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) => Type.Union([schema, Type.Null()]);

export const ScheduleAnswer = Type.Object({
  id: Type.String(),
  name: Type.String(),
  ...TIMING,
  state: words(SCHEDULE_STATUSES, '`held`: it cannot run, as `reason` says, until somebody changes or resumes it'),
  reason: nullable(Type.String()),
  kind: words(['task', 'push'], ''),
  queue: Type.Union([Type.String(), Type.Null()], {
    description: 'Name of the queue of its tasks, while there is one',
  }),
  command: Type.Union([Type.String(), Type.Null()], { description: 'Of its push jobs, the beginning' }),
  owner: Type.String({ description: 'For whom it runs, with their rights: whoever made or last changed it' }),
  approval: Type.Union([Type.String(), Type.Null()], {
    description:
      'Id of the approval by which it was granted exactly as it is, so that its runs wait for nobody unless policies want something else since',
  }),
  next_run: nullable(Time),
  waiting_since: Type.Union([Time, Type.Null()], {
    description: 'The time of a run that waits for the end of the last one, or of a calendar',
  }),
  waiting_for: nullable(
    Type.Object({
      calendar: Type.String(),
      until: Type.String({ format: 'date-time', description: 'When it runs if the calendar stays as it is' }),
    }),
  ),
  last_run: nullable(
    Type.Object({
      due_at: Time,
      started_at: Time,
      task: nullable(Type.String()),
      job: nullable(Type.String()),
      status: Type.Union([Type.String(), Type.Null()], {
        description: 'Of the task or push job now; null: it was deleted',
      }),
    }),
  ),
  last_missed: Type.Union([Type.Object({ due_at: Time, reason: Type.String() }), Type.Null()], {
    description: 'The last time at which nothing was run',
  }),
  created_at: Time,
  updated_at: Time,
});
export const ScheduleListAnswer = Type.Array(ScheduleAnswer);
export const ScheduleDetailAnswer = Type.Object({
  ...ScheduleAnswer.properties,
  next_runs: Type.Array(Time, {
    description: 'Its next five times at which it runs, as calendars are now; none while it does not run',
  }),
  task: nullable(loose('As it was given')),
  push: nullable(loose('As it was given; of a file only that there is one: `file_specified`')),
});
export const RunAnswer = Type.Object({ task: nullable(Type.String()), job: nullable(Type.String()) });
export const Nothing = { 204: Type.Null({ description: 'Done' }) };

export const PageQuery = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: TASK_LIMITS.historyPage, default: 50 })),
    offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000, default: 0 })),
  },
  STRICT,
);

export const PastRunAnswer = Type.Object({
  at: Type.String({ description: 'When it was started, or seen to be missed, ISO 8601' }),
  due_at: Type.String({ description: 'The time that it was due; of several that were missed together the last' }),
  outcome: words(['started', 'missed'], 'Whether something was started'),
  task: nullable(Type.String({ description: 'Id of the task that was added' })),
  job: nullable(Type.String({ description: 'Id of the push job that was started' })),
  status: nullable(Type.String({ description: 'How that stands now; null when it is deleted' })),
  count: Type.Integer({ description: 'How many times it stands for; 100 also for more' }),
  reason: nullable(Type.String({ description: 'Why nothing was started' })),
});
