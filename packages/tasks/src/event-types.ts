import { OwnEvents } from '@muster/platform/log';
import { Type } from 'typebox';

const text = (description: string) => Type.String({ description });
const integer = (description: string) => Type.Integer({ description });
const nullable = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

const queue = text('Id of the queue');
const task = text('Id of the task');
const status = text(
  '`queued`, `blocked`, `held`, `claimed`, `running`, `succeeded`, `failed`, `cancelled`, `terminated` or `orphaned`',
);
const node = text('Name of the node');
const attempt = integer('Which assignment of the task, from 1 on');
const reason = nullable('Why, if there is something to say');

/** What is told of queues. */
export const QUEUE_EVENTS = new OwnEvents({
  prefix: 'queue.',
  followers: 'task:read',
  schemas: {
    'queue.created': {
      summary: 'A queue was created.',
      attributes: Type.Object({ queue, name: text('Its name'), by: text('Who did it') }),
      data: Type.Object({ plugin: text('What runs its tasks'), threads: Type.Union([Type.Integer(), Type.Null()]) }),
    },
    'queue.changed': {
      summary: 'A queue was changed: paused, opened, drained, or given other rules.',
      attributes: Type.Object({
        queue,
        name: text('Its name'),
        by: text('Who did it'),
        state: text('`open`, `paused` or `draining`'),
      }),
      data: Type.Object({ changed: Type.Array(Type.String(), { description: 'Which of its fields' }) }),
    },
    'queue.removed': {
      summary: 'A queue was deleted, and its tasks with it.',
      attributes: Type.Object({ queue, name: text('Its name'), by: text('Who did it') }),
      data: Type.Object({}),
    },
  },
});

/** What is told of tasks. */
export const TASK_EVENTS = new OwnEvents({
  prefix: 'task.',
  followers: 'task:read',
  schemas: {
    'task.added': {
      summary: 'Tasks were added to a queue: those that were handed in together are told together.',
      attributes: Type.Object({
        queue,
        task: text('Id of the first of them'),
        count: integer('How many'),
        by: text('Who did it'),
      }),
      data: Type.Object({ last: text('Id of the last of them') }),
    },
    'task.claimed': {
      summary: 'A task was assigned to a node.',
      attributes: Type.Object({ queue, task, node, attempt }),
      data: Type.Object({}),
    },
    'task.running': {
      summary: 'A node began to run a task.',
      attributes: Type.Object({ queue, task, node, attempt }),
      data: Type.Object({}),
    },
    'task.ended': {
      summary: 'A task ended.',
      attributes: Type.Object({ queue, task, status, code: integer('Its status code'), attempt }),
      data: Type.Object({ node: nullable('Where it ran'), reason }),
      counted: 'by status',
    },
    'task.waiting': {
      summary: 'A task waits again, or for something else: it is retried, was given back, held, released, or is due.',
      attributes: Type.Object({ queue, task, status, code: integer('Its status code'), attempt }),
      data: Type.Object({
        reason,
        not_before: Type.Union([Type.Integer(), Type.Null()], { description: 'Milliseconds since the epoch' }),
      }),
    },
    'task.cancelling': {
      summary: 'A task that a node has is to end.',
      attributes: Type.Object({ queue, task, attempt }),
      data: Type.Object({ reason }),
    },
    'task.bulk': {
      summary: 'The server acts on many tasks: it began, came further, or is at its end.',
      attributes: Type.Object({
        bulk: text('Id of the action'),
        queue: Type.Optional(text('Id of the queue, if it is about tasks of one alone')),
        action: text('`retry`, `cancel`, `hold`, `release` or `remove`'),
        state: text('`running`, `done`, `stopped` or `failed`'),
        by: text('Who wanted it'),
      }),
      data: Type.Object({
        counted: Type.Union([Type.Integer(), Type.Null()], {
          description: 'How many it was about when they were counted',
        }),
        matched: integer('Tasks that were looked at until now'),
        acted: integer('Those that were changed'),
        reason,
      }),
    },
    'task.removed': {
      summary: 'Tasks were deleted.',
      attributes: Type.Object({ queue, task: text('Id of the first of them'), count: integer('How many') }),
      data: Type.Object({}),
    },
  },
});
