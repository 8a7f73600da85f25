import { CALENDAR_LIMITS } from '@muster/tasks';
import { type Static, Type } from 'typebox';
import { RULE_LIMITS, USUAL_AT_MOST } from './limits.js';

/** Shapes of requests and answers about rules. Requests are strict: an unknown field is refused by name. */
const STRICT = { additionalProperties: false } as const;
const Time = Type.String({ description: 'ISO 8601' });
const segment = () => Type.String({ minLength: 1, maxLength: RULE_LIMITS.name });

export const OrgParams = Type.Object({ org: segment() });
export const RuleParams = Type.Object({ org: segment(), rule: segment() });
export const Nothing = { 204: Type.Null({ description: 'Done' }) };

const On = Type.String({
  minLength: 1,
  maxLength: RULE_LIMITS.selector,
  description: "Which events: a selector, such as `type = 'disk.high' AND percent > 90`",
});
const AtMost = Type.Object(
  {
    runs: Type.Integer({ minimum: 1, maximum: RULE_LIMITS.runs }),
    seconds: Type.Integer({ minimum: 1, maximum: RULE_LIMITS.seconds }),
  },
  {
    ...STRICT,
    description: `So many runs within so many seconds; ${USUAL_AT_MOST.runs} a minute unless given. Events beyond are counted`,
  },
);
const HEEDS = {
  not_during: Type.Optional(
    Type.Array(Type.String({ maxLength: RULE_LIMITS.name }), {
      maxItems: CALENDAR_LIMITS.heeded,
      description: 'Names of calendars: nothing is started at their times; none unless given',
    }),
  ),
  blackout: Type.Optional(
    Type.Union([Type.Literal('skip'), Type.Literal('wait')], {
      description:
        'What becomes of an event at such a time: `skip` leaves it out (as it is unless given), `wait` starts the work at the end',
    }),
  ),
};
const RunbookWork = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 255 }),
    parameters: Type.Optional(
      Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()]), {
        description: 'Texts may have attributes of the event in them, as `{node}`',
      }),
    ),
    node: Type.Optional(
      Type.Union([Type.String({ minLength: 1, maxLength: 1000 }), Type.Null()], {
        description: 'Of the nodes of the runbook only this one, such as `{host}`',
      }),
    ),
  },
  STRICT,
);
const TaskWork = Type.Object(
  {},
  {
    additionalProperties: true,
    description:
      'The task that is added: `queue`, and as for adding one `params`, `priority`, …; texts may have attributes in them',
  },
);

const JobWork = Type.Object(
  {},
  {
    additionalProperties: true,
    description:
      'The job that is submitted, as to `/jobs/v2`: `appId`, `name`, `inputs`, `parameters`, …; texts may have attributes in them',
  },
);

const FIELDS = {
  on: Type.Optional(On),
  at_most: Type.Optional(AtMost),
  ...HEEDS,
  enabled: Type.Optional(Type.Boolean({ description: 'false: it starts nothing' })),
  asks: Type.Optional(
    Type.Union([Type.Literal('each'), Type.Literal('once')], {
      description:
        'Where others have to agree to runs of its runbook: to each (as it is unless given), or `once`, to the rule with this version of its runbook',
    }),
  ),
  runbook: Type.Optional(RunbookWork),
  task: Type.Optional(TaskWork),
  job: Type.Optional(JobWork),
};

export const NewBody = Type.Object(
  {
    ...FIELDS,
    name: Type.String({ pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}$', description: 'letters, digits and _ . -' }),
    on: On,
  },
  STRICT,
);
export const ChangesBody = Type.Object(FIELDS, { ...STRICT, minProperties: 1 });
export type RuleFields = Static<typeof ChangesBody>;

export const TryBody = Type.Object(
  {
    on: On,
    at_most: Type.Optional(AtMost),
    runbook: Type.Optional(RunbookWork),
    task: Type.Optional(TaskWork),
    job: Type.Optional(JobWork),
    ...HEEDS,
    seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: RULE_LIMITS.triedSeconds,
        default: 86_400,
        description: 'How far back; a day unless given',
      }),
    ),
  },
  STRICT,
);

const nullable = (type: ReturnType<typeof Type.String>) => Type.Union([type, Type.Null()]);

export const RuleAnswer = Type.Object({
  name: Type.String(),
  on: Type.String(),
  at_most: Type.Object({ runs: Type.Integer(), seconds: Type.Integer() }),
  not_during: Type.Array(Type.String()),
  blackout: Type.String(),
  enabled: Type.Boolean(),
  asks: Type.String({ description: '`each` or `once`' }),
  approval: Type.Union([Type.String(), Type.Null()], {
    description:
      'Id of the approval by which it was granted exactly as it is, so that its runs wait for nobody while its runbook is of that version',
  }),
  kind: Type.String({ description: '`runbook`, `task` or `job`' }),
  runbook: Type.Union([
    Type.Object({
      name: Type.String(),
      parameters: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()])),
      node: nullable(Type.String()),
    }),
    Type.Null(),
  ]),
  task: Type.Union([Type.Object({}, { additionalProperties: true }), Type.Null()]),
  job: Type.Union([Type.Object({}, { additionalProperties: true }), Type.Null()]),
  owner: Type.String({ description: 'With whose rights it acts: whoever made or changed it last' }),
  skipped: Type.Integer({ description: 'Events for which nothing was started: too many, or from its own runs' }),
  created_at: Time,
  updated_at: Time,
});

export const RunAnswer = Type.Object({
  position: Type.Integer({ description: 'Of the event' }),
  at: Time,
  event: Type.String({ description: 'Its type' }),
  outcome: Type.Union(
    [
      Type.Literal('started'),
      Type.Literal('asked'),
      Type.Literal('denied'),
      Type.Literal('expired'),
      Type.Literal('failed'),
      Type.Literal('skipped'),
      Type.Literal('waiting'),
    ],
    {
      description:
        '`asked`: others have to agree before it is started; `denied`, `expired`: they did not; `skipped`: for a calendar; `waiting`: for one, or for the queue of jobs',
    },
  ),
  kind: Type.String(),
  run: nullable(
    Type.String({
      description: 'Id of the push job, of the approval while others have not agreed, of the task or of the job',
    }),
  ),
  reason: nullable(
    Type.String({
      description: 'Why nothing was started, or is not yet: a calendar, or others who have to agree; or who agreed',
    }),
  ),
  held_until: nullable(
    Type.String({ description: 'When it is started if the calendar stays as it is, or tried again, ISO 8601' }),
  ),
});

export const PageQuery = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: RULE_LIMITS.page, default: 50 })),
    offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000, default: 0 })),
  },
  STRICT,
);

export const TriedAnswer = Type.Object({
  events: Type.Integer({ description: 'That were looked at' }),
  matched: Type.Integer(),
  started: Type.Integer({ description: 'For which something would have been started' }),
  skipped: Type.Integer({ description: 'Beyond `at_most`' }),
  failed: Type.Integer({ description: 'That lack an attribute, or for which it would have been refused' }),
  complete: Type.Boolean({ description: `false: only the first ${RULE_LIMITS.triedEvents} events were looked at` }),
  last: Type.Array(
    Type.Object({
      position: Type.Integer(),
      at: Time,
      type: Type.String(),
      outcome: Type.String(),
      reason: nullable(Type.String()),
    }),
  ),
});
