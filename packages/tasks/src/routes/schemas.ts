import { fieldsParameter, listedFields, sortParameter } from '@muster/platform/http';
import { OutputQuery as PlainOutputQuery } from '@muster/platform/output';
import { type Static, Type } from 'typebox';
import { TASK_LIMITS } from '../limits.js';
import { STATUS_NAMES } from '../status.js';

/** Shapes of requests and answers, for validation and for /openapi.json. */

export const STRICT = { additionalProperties: false } as const;
const YEAR = 31_536_000;
const COUNT = 1_000_000;

const segment = () => Type.String({ minLength: 1, maxLength: 255 });
export const OrgParams = Type.Object({ org: segment() });
export const QueueParams = Type.Object({ org: segment(), queue: segment() });
export const TaskParams = Type.Object({ org: segment(), id: segment() });

export const nullable = <T extends ReturnType<typeof Type.String | typeof Type.Integer | typeof Type.Number>>(
  schema: T,
) => Type.Union([schema, Type.Null()]);
export const words = <const W extends readonly string[]>(list: W, description: string) =>
  Type.Unsafe<W[number]>(
    Type.Union(
      list.map((word) => Type.Literal(word)),
      { description },
    ),
  );
const integer = (description: string, minimum: number, maximum: number) =>
  Type.Integer({ description, minimum, maximum });
const seconds = (description: string, minimum = 1) =>
  Type.Number({ description: `${description} (seconds)`, minimum, maximum: 10 * YEAR });

const RETRY_IS = 'When a task that failed is run again; the wait is doubled each time';
const RETRY = {
  limit: integer('How often, after the first run', 0, 1000),
  first: seconds('Before the first', 0),
  longest: seconds('At most', 0),
};

const SETTINGS = {
  threads: Type.Union([integer('', 0, COUNT), Type.Null()], {
    description: 'Tasks at one time, on all nodes together; null: no limit',
  }),
  sort: words(['fifo', 'lifo', 'default'], 'Which waiting task comes first, besides its priority'),
  nodes: Type.Union([Type.String(), Type.Null()], {
    description: 'Selector of the nodes that may run its tasks; null: all',
  }),
  ignore_nodes: Type.Union([Type.String(), Type.Null()], { description: 'Selector of the nodes that may not' }),
  weight: integer('Its share of the slots of a node beside other queues', 1, 1000),
  key: Type.Union(
    [
      Type.Object(
        { param: Type.String({ minLength: 1, maxLength: TASK_LIMITS.name }), limit: integer('', 1, COUNT) },
        STRICT,
      ),
      Type.Null(),
    ],
    { description: 'Parameter whose value is the key of a task, and how many tasks of one key run at one time' },
  ),
  rate: Type.Union(
    [
      Type.Object({ tasks: integer('', 1, COUNT), seconds: Type.Number({ minimum: 0.1, maximum: YEAR }) }, STRICT),
      Type.Null(),
    ],
    { description: 'Most tasks that are assigned in so many seconds' },
  ),
  retry: Type.Object(RETRY, { ...STRICT, description: RETRY_IS }),
  orphan_retries: integer('How often a task is queued again whose node was lost', 0, 1000),
  timeout: Type.Union([seconds('One run'), Type.Null()], {
    description: 'Seconds that one run may take; null: no limit',
  }),
  output_limit: integer('Most bytes kept of each stream of output', 0, 2_147_483_647),
  keep: Type.Union([seconds('', 0), Type.Null()], {
    description: 'Seconds that tasks are kept after they ended; null: as the server says; 0: for ever',
  }),
  secrets: Type.Union([Type.Record(Type.String(), Type.String()), Type.Null()], {
    description:
      'Names of secrets, by what its plugin finds each as: the file `$MUSTER_SECRETS/NAME`. With the rights of whoever sets them, or changes its plugin, nodes or writers afterwards; null: none',
  }),
  writers: Type.Array(Type.String(), {
    maxItems: 1000,
    description: 'Who may add tasks and act on them, besides `task_writers`: users, `group:NAME`, `client:NAME`',
  }),
  readers: Type.Array(Type.String(), {
    maxItems: 1000,
    description: 'Who may look, besides `task_readers`; as `writers`',
  }),
};

const NAMES = {
  name: Type.String({ description: 'Unique in the organization' }),
  plugin: Type.String({ description: 'What runs its tasks, as agents call it' }),
};
const STATE = {
  state: words(['open', 'paused', 'draining'], '`draining`: it works off what it has, and takes no more'),
};

/** A part of the rule may be given. */
const GIVEN = {
  ...SETTINGS,
  retry: Type.Partial(Type.Object(RETRY, STRICT), { ...STRICT, description: `${RETRY_IS}; what is not given stays` }),
};

export const QueueBody = Type.Object(
  { ...NAMES, ...Type.Partial(Type.Object({ ...STATE, ...GIVEN })).properties },
  STRICT,
);
export type QueueBodyFields = Static<typeof QueueBody>;
export const QueueChangesBody = Type.Partial(Type.Object({ ...NAMES, ...STATE, ...GIVEN }, STRICT), STRICT);
export type QueueChangesFields = Static<typeof QueueChangesBody>;

export const Count = Type.Integer({ minimum: 0 });
export const Time = Type.String({ description: 'ISO 8601' });
const Why = Type.Array(Type.String(), { description: 'In sentences' });
const counts = Type.Object(Object.fromEntries(STATUS_NAMES.map((name) => [name, Count])), {
  description: 'Its tasks by status',
});

export const QueueAnswer = Type.Object({
  id: Type.String({ description: '24 hex digits' }),
  ...NAMES,
  ...STATE,
  ...SETTINGS,
  created_at: Time,
  updated_at: Time,
  counts,
  ended_last_minute: Count,
  oldest_waiting: Type.Union([Time, Type.Null()]),
  why: Type.Array(Type.String(), {
    description: 'Why nothing is assigned though something waits; empty while it moves',
  }),
});
export const QueueListAnswer = Type.Array(QueueAnswer);
export const WhyAnswer = Type.Object({ why: Why });

export const RemoveQueueQuery = Type.Object(
  { force: Type.Optional(Type.Boolean({ description: 'Also while nodes have tasks of it: these are cancelled' })) },
  STRICT,
);

/** `readNewTask` checks what this describes. */
const TaskBody = Type.Object(
  {
    params: Type.Optional(Type.Object({}, { additionalProperties: true, description: 'What its plugin gets' })),
    priority: Type.Optional(Type.Integer({ description: 'Higher ones first; 0 unless given' })),
    not_before: Type.Optional(Type.String({ description: 'Not before this time (ISO 8601)' })),
    expires_at: Type.Optional(Type.String({ description: 'Cancelled unless it has begun by then (ISO 8601)' })),
    after: Type.Optional(Type.Array(Type.String(), { description: 'Ids of tasks that must have succeeded before' })),
    unique: Type.Optional(
      Type.Object(
        { key: Type.String(), seconds: Type.Optional(Type.Integer({ description: 'A day unless given' })) },
        { description: 'A task with the same key is not made again within so many seconds' },
      ),
    ),
    retries: Type.Optional(Type.Integer({ description: 'Instead of what the queue says' })),
    secrets: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: 'Besides those of the queue: names of secrets, by what the plugin finds each as',
      }),
    ),
    timeout: Type.Optional(Type.Integer({ description: 'Seconds; instead of what the queue says' })),
  },
  { additionalProperties: true },
);
const LINES =
  'One task a line, as JSON. With an access token any number; a signed body is bounded by `http.body_limit`.';
export const AddBody = {
  content: {
    'application/json': { schema: Type.Unsafe<unknown>({ anyOf: [TaskBody, Type.Array(TaskBody)] }) },
    'application/x-ndjson': { schema: Type.Unsafe<unknown>({ description: LINES }) },
  },
};

const AddedTask = Type.Object({
  id: Type.String(),
  created: Type.Boolean({ description: 'False: there was one with its key already, which is this' }),
});
const LinesAnswer = Type.Object({
  added: Count,
  existed: Type.Integer({ minimum: 0, description: 'Tasks that were there already, by their key' }),
});
export const AddedAnswer = Type.Union([AddedTask, Type.Array(AddedTask)]);
export const AddAnswers = {
  200: LinesAnswer,
  201: AddedAnswer,
};

export const TaskAnswer = Type.Object({
  id: Type.String({ description: '24 hex digits; later ones are greater' }),
  queue: Type.Union([Type.String(), Type.Null()], { description: 'Name; null: the queue is gone' }),
  queue_id: Type.String(),
  plugin: nullable(Type.String()),
  params: Type.Object({}, { additionalProperties: true }),
  status: words(STATUS_NAMES, ''),
  code: Type.Integer({ description: 'Status code' }),
  node: nullable(Type.String()),
  attempt: Count,
  failures: Count,
  orphanings: Count,
  priority: Type.Integer(),
  key: nullable(Type.String()),
  requester: Type.String(),
  reason: nullable(Type.String()),
  cancelling: Type.Boolean(),
  waits_for: Type.Integer({ minimum: 0, description: 'Tasks that must succeed first' }),
  not_before: Type.Union([Time, Type.Null()]),
  expires_at: Type.Union([Time, Type.Null()]),
  ctime: Time,
  mtime: Time,
  started: Type.Union([Time, Type.Null()]),
  ended: Type.Union([Time, Type.Null()]),
  exit_code: nullable(Type.Integer()),
  signal: nullable(Type.String()),
  complete: Type.Union([Type.Boolean(), Type.Null()], {
    description: 'Whether all its output was kept; null until it ended',
  }),
});
/** Of a list of tasks. */
export const TASK_FIELDS = listedFields(TaskAnswer, 'tasks');

export const ListQuery = Type.Object(
  {
    q: Type.Optional(Type.String({ description: 'Selector: `queue:resize AND status:failed AND params.width > 100`' })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'Most tasks in one answer' })),
    after: Type.Optional(Type.String({ description: '`next` of the answer before' })),
    order: Type.Optional(words(['asc', 'desc'], '`desc`, the newest first, unless given')),
    ...fieldsParameter(TASK_FIELDS),
    ...sortParameter(['ctime'], '-ctime'),
  },
  STRICT,
);

export type ListQueryFields = Static<typeof ListQuery>;

export const TaskDetailAnswer = Type.Object({
  ...TaskAnswer.properties,
  options: Type.Object({}, { additionalProperties: true, description: 'What was said of it when it was added' }),
  after: Type.Array(Type.String(), { description: 'Ids of the tasks it waits for, or waited for' }),
  progress: Type.Union([Type.Object({ fraction: Type.Number(), text: Type.String() }), Type.Null()]),
  why: Why,
});
export const TaskListAnswer = Type.Object({
  tasks: Type.Array(TaskAnswer),
  next: Type.Union([Type.String(), Type.Null()], {
    description: '`after` of the next request; an answer may be short, or empty, and yet not the last. Null: it is',
  }),
});

export const AttemptsQuery = Type.Object(
  {
    after: Type.Optional(Type.Integer({ minimum: 0, description: 'Number of the last attempt of the page before' })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  },
  STRICT,
);
export const AttemptAnswer = Type.Object({
  attempt: Count,
  node: nullable(Type.String()),
  status: words(STATUS_NAMES, ''),
  code: Type.Integer(),
  reason: nullable(Type.String()),
  started: Type.Union([Time, Type.Null()]),
  ended: Type.Union([Time, Type.Null()]),
  exit_code: nullable(Type.Integer()),
  signal: nullable(Type.String()),
});
export const AttemptsAnswer = Type.Array(AttemptAnswer);

export const OutputQuery = Type.Object(
  {
    ...PlainOutputQuery.properties,
    attempt: Type.Optional(Type.Integer({ minimum: 1, description: 'Which run; the latest unless given' })),
  },
  STRICT,
);

export const HoldBody = Type.Object(
  { code: Type.Optional(integer('Status code below -6 that holds it; -7 unless given', -2_147_483_648, -7)) },
  STRICT,
);

const ACTION = words(['retry', 'cancel', 'hold', 'release', 'remove'], '');
export const ActionsBody = Type.Object(
  {
    action: ACTION,
    where: Type.Optional(Type.String({ description: 'Selector of tasks; either this or `ids`' })),
    ids: Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: 10_000 })),
    dry_run: Type.Optional(
      Type.Boolean({ description: 'Count only: how many it is about, and which of them would stay as they are' }),
    ),
    after: Type.Optional(Type.String({ description: '`next` of the answer before' })),
    until: Type.Optional(
      Type.String({ description: '`last` of the count before: tasks that came after it are left as they are' }),
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 10_000, description: 'Most tasks that are acted on; `next` has the others' }),
    ),
    code: HoldBody.properties.code,
  },
  STRICT,
);
export type ActionsBodyFields = Static<typeof ActionsBody>;
export const Refused = Type.Array(
  Type.Object({ reason: Type.String(), tasks: Count, first: Type.String({ description: 'Id of one of them' }) }),
  { description: 'Tasks that stayed as they were, by reason' },
);
export const ActionsAnswer = Type.Object({
  matched: Type.Integer({ minimum: 0, description: 'Tasks that it is about' }),
  acted: Count,
  refused: Refused,
  sample: Type.Array(Type.String(), { description: 'Ids of the first tasks that it is about, if there is a selector' }),
  last: Type.Union([Type.String(), Type.Null()], {
    description: 'Id of the last task that it is about, if there is a selector',
  }),
  next: Type.Union([Type.String(), Type.Null()], { description: 'There are more: `after` of the next request' }),
});

export const EventStreamAnswer = { content: { 'text/event-stream': { schema: Type.String() } } };
export const Nothing = { 204: Type.Null({ description: 'Done' }) };
