import {
  answer,
  constant,
  document,
  either,
  flag,
  gone,
  integer,
  lines,
  listOf,
  more,
  object,
  own,
  type Printed,
  text,
} from './shapes.js';

const TASK = answer('getTask');
const ACTION = document(
  either(
    object({ matched: integer(), acted: integer(), refused: answer('actOnTasks', 'refused') }),
    object({ matched: integer(), refused: answer('actOnTasks', 'refused'), dry_run: constant(true) }),
    answer('startBulk'),
  ),
  'With --dry-run only how many there are, and which would stay as they are; with --detach what the server does.',
);
const STREAM = object({
  stream: own({ enum: ['stdout', 'stderr'] }),
  'text?': text('Where it is UTF-8'),
  'base64?': text('Where it is not'),
  dropped_bytes: integer('In the middle, not kept'),
  complete: flag('Nothing more comes'),
  'missing?': text('Why some of it is missing'),
});
const IMPORTED = { imported: integer(), present: integer('There already'), refused: integer() };

/** Queues, tasks, schedules, collections. */
export const TASKS: Readonly<Record<string, Printed>> = {
  'queue create': document(answer('createQueue')),
  'queue list': document(answer('listQueues')),
  'queue show': document(answer('getQueue')),
  'queue set': document(answer('changeQueue')),
  'queue pause': document(answer('pauseQueue')),
  'queue resume': document(answer('resumeQueue')),
  'queue drain': document(answer('drainQueue')),
  'queue why': document(answer('whyQueue')),
  'queue balance': document(answer('disbatchGetBalance')),
  'queue rm': gone('name'),

  'task add': document(
    either(answer('addTasks 201', '|0'), answer('addTasks'), TASK),
    'One task; with --from how many; with --wait the task at its end.',
  ),
  'task list': document(answer('listTasks', 'tasks')),
  'task show': document(
    either(more(TASK, { attempts: answer('listTaskAttempts') }), STREAM),
    'With --output or --stderr each stream, a line each.',
  ),
  'task why': document(answer('whyTask')),
  'task wait': lines(TASK, 'Each task at its end.'),
  'task retry': ACTION,
  'task cancel': ACTION,
  'task hold': ACTION,
  'task release': ACTION,
  'task rm': ACTION,
  'task bulk list': document(answer('listBulk')),
  'task bulk show': document(answer('showBulk')),
  'task bulk stop': document(answer('stopBulk')),

  'collection list': document(answer('listCollections')),
  'collection import': document(object({ name: text(), added: integer(), documents: integer('That it has now') })),
  'collection rm': document(object({ name: text() })),

  'schedule create': document(
    either(answer('createSchedule'), answer('createSchedule 202')),
    'The schedule; what waits for others to agree: the approval.',
  ),
  'schedule list': document(answer('listSchedules')),
  'schedule show': document(answer('getSchedule')),
  'schedule runs': document(answer('listScheduleRuns')),
  'schedule set': document(
    either(answer('changeSchedule'), answer('changeSchedule 202')),
    'The schedule; what waits for others to agree: the approval.',
  ),
  'schedule pause': document(answer('pauseSchedule')),
  'schedule resume': document(
    either(answer('resumeSchedule'), answer('resumeSchedule 202')),
    'The schedule; what waits for others to agree: the approval.',
  ),
  'schedule run': document(answer('runSchedule')),
  'schedule next': document(listOf(text('ISO 8601'))),
  'schedule rm': gone('name'),

  'calendar create': document(answer('createCalendar')),
  'calendar list': document(answer('listCalendars')),
  'calendar show': document(answer('getCalendar')),
  'calendar set': document(answer('changeCalendar')),
  'calendar rm': gone('name'),

  'import disbatch': document(
    object({
      collections: own({
        type: 'object',
        additionalProperties: {
          type: 'object',
          properties: {
            imported: { type: 'integer' },
            present: { type: 'integer', description: 'There already' },
            refused: { type: 'integer' },
          },
          required: ['imported', 'present', 'refused'],
        },
      }),
      errors: answer('importDump', 'errors'),
    }),
  ),
  'import agave-jobs': document(object({ ...IMPORTED, errors: listOf(object({ line: integer(), error: text() })) })),
};
