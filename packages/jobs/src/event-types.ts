import { type EventSchema, OwnEvents } from '@muster/platform/log';
import { Type } from 'typebox';
import { ownerName } from './controller/asker.js';
import { DESCRIPTIONS, isTerminal, STATUSES, type Status } from './status.js';

const text = (description: string) => Type.String({ description });

/** Who may follow them. */
const ADMINS = 'job:admin';

const attributes = Type.Object({
  job: text('Id of the job'),
  status: text('Its new status'),
  from: text('The status before'),
  owner: text('Whose it is'),
  app: text('Its app'),
  system: text('Its execution system'),
});
const data = Type.Object({ message: text('What its history says of it') });

type StatusType = `job.${Lowercase<Status>}`;

const statusSchemas = Object.fromEntries(
  STATUSES.map((status) => [
    `job.${status.toLowerCase()}`,
    {
      summary: `A job became ${status}: ${DESCRIPTIONS[status].replace(/^JOBS_ACCEPTED /, '').replace(/\.$/, '')}.`,
      attributes,
      data,
      ...(isTerminal(status) && { counted: 'together' as const }),
    },
  ]),
) as Record<StatusType, EventSchema & { attributes: typeof attributes; data: typeof data }>;

/** What is told of jobs: every change of status (sheet §9.2). Whoever owns a job reads all of it, whether it is hidden or not. */
export const JOB_EVENTS = new OwnEvents({
  prefix: 'job.',
  followers: ADMINS,
  owners: { permission: 'job:use', attribute: 'owner', nameOf: ownerName },
  schemas: statusSchemas,
});

const worker = Type.Object({
  worker: text('Id of the worker, new at every start'),
  name: text('Its name'),
  queue: text('The job queue that it takes jobs of, whole'),
});

/** What is told of workers of jobs. */
export const WORKER_EVENTS = new OwnEvents({
  prefix: 'job_worker.',
  followers: ADMINS,
  schemas: {
    'job_worker.changed': {
      summary: 'A worker of jobs started, was suspended or resumed, takes nothing more, or ended.',
      attributes: Type.Object({
        ...worker.properties,
        state: text('`running`, `suspended`, `quiescing` or `stopped`'),
      }),
      data: Type.Object({
        host: text('Where it runs'),
        slots: Type.Integer({ description: 'Jobs that it works on at a time' }),
      }),
    },
    'job_worker.lost': {
      summary: 'Nothing is heard of a worker of jobs any more: others go on with what it had.',
      attributes: worker,
      data: Type.Object({}),
    },
    'job_worker.found': {
      summary: 'A worker of jobs of which nothing was heard is heard again.',
      attributes: worker,
      data: Type.Object({}),
    },
  },
});

/** What is told of job queues: their definitions. How many wait in them changes with `job.…`. */
export const JOB_QUEUE_EVENTS = new OwnEvents({
  prefix: 'job_queue.',
  followers: ADMINS,
  schemas: {
    'job_queue.changed': {
      summary: 'A job queue was made, or takes other jobs than before.',
      attributes: Type.Object({ queue: text('Its name, whole'), priority: Type.Integer() }),
      data: Type.Object({ filter: text('Which jobs it takes') }),
    },
    'job_queue.removed': {
      summary: 'A job queue was deleted.',
      attributes: Type.Object({ queue: text('Its name, whole') }),
      data: Type.Object({}),
    },
  },
});

/** What is told of messages of jobs that nobody took. */
export const STRAY_EVENTS = new OwnEvents({
  prefix: 'job_message.',
  followers: ADMINS,
  schemas: {
    'job_message.kept': {
      summary: 'A message of a job that nobody took is kept, until somebody publishes it again or drops it.',
      attributes: Type.Object({ message: text('Its id'), kind: text('`alternate` or `dead-letter`') }),
      data: Type.Object({
        reason: Type.Union([Type.String(), Type.Null()], { description: 'Why nobody took it, if that is known' }),
      }),
    },
    'job_message.removed': {
      summary: 'Such a message was published again, or dropped.',
      attributes: Type.Object({ message: text('Its id') }),
      data: Type.Object({}),
    },
  },
});

/** What is told of what blocked jobs wait for; that a job joins or leaves is told by `job.…`. */
export const RECOVERY_EVENTS = new OwnEvents({
  prefix: 'job_recovery.',
  followers: ADMINS,
  schemas: {
    'job_recovery.changed': {
      summary: 'What blocked jobs wait for was seen for the first time, or tested: when it is tested next.',
      attributes: Type.Object({
        recovery: text('Its id'),
        condition: text('What is waited for'),
        attempts: Type.Integer({ description: 'Tests that it has not passed' }),
      }),
      data: Type.Object({
        answer: Type.Union([Type.String(), Type.Null()], { description: 'Of the last test' }),
      }),
    },
    'job_recovery.removed': {
      summary: 'No job waits for it any more.',
      attributes: Type.Object({ recovery: text('Its id'), condition: text('What was waited for') }),
      data: Type.Object({}),
    },
  },
});

export function statusType(status: Status): StatusType {
  return `job.${status.toLowerCase() as Lowercase<Status>}`;
}
