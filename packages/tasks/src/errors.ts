import { declareErrors } from '@muster/base/errors';

/** The errors of queues and tasks. */
export const TASK_ERRORS = declareErrors({
  queue_exists: {
    status: 409,
    exit: 1,
    message: "there is a queue '{name}' already",
    fix: 'Choose another name, or change that one: `muster queue set {name}`.',
  },
  queue_busy: {
    status: 409,
    exit: 1,
    message: "nodes still have {tasks} tasks of queue '{name}'",
    fix: 'Pause it and wait for them (`muster queue why {name}`), or delete it with --force (REST: ?force=true), which cancels them.',
  },
  node_has_tasks: {
    status: 409,
    exit: 1,
    message: "node '{name}' has {tasks} tasks",
    fix: 'Wait for them or cancel them, or delete the node with --force (REST: ?force=true): they are orphaned then.',
  },
  queue_draining: {
    status: 409,
    exit: 1,
    message: "queue '{name}' is being drained and takes no more tasks",
    fix: 'Open it again with `muster queue resume {name}`, or use another queue.',
  },
  too_many_queues: {
    status: 409,
    exit: 1,
    message: 'the organization has {limit} queues already',
    fix: 'Delete queues that are not used any more. One queue serves any number of tasks.',
  },
  too_many_bulk_runs: {
    status: 409,
    exit: 1,
    message: 'the server acts on many tasks {limit} times already',
    fix: 'Wait for one of them, or stop it: `muster task bulk list` shows them.',
  },
  schedule_exists: {
    status: 409,
    exit: 1,
    message: "there is a schedule '{name}' already",
    fix: 'Choose another name, or change that one: `muster schedule set {name}`.',
  },
  too_many_schedules: {
    status: 409,
    exit: 1,
    message: 'the organization has {limit} schedules already',
    fix: 'Delete schedules that are not used any more: `muster schedule rm NAME`.',
  },
  calendar_heeded: {
    status: 409,
    exit: 1,
    message: "calendar '{name}' is heeded by {by}",
    fix: 'Have it heed other calendars or none (`--not-during`), then delete this one.',
  },
  secret_elsewhere: {
    status: 403,
    exit: 3,
    message: "secrets were named for tasks of queue '{queue}', and its plugin or its nodes are others since",
    fix: 'Look where they would go (`muster queue show {queue}`), and name them again: add the task, or change the schedule or the rule.',
  },
  invalid_params: {
    status: 400,
    exit: 2,
    message: 'invalid params: {reason}',
    fix: 'Give a JSON object of at most {limit} bytes (tasks.max_params); of something larger, its name or address.',
  },
  task_refused: {
    status: 409,
    exit: 1,
    message: 'task {id} cannot be {done}: {reason}',
    fix: 'See how it stands: `muster task show {id}`.',
  },
});

type Rows = typeof TASK_ERRORS;

declare module '@muster/base/errors' {
  interface ErrorTable extends Rows {}
}

/** Taken from here, it knows the errors above. */
export { MusterError } from '@muster/base/errors';
