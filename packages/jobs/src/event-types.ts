import { OwnEvents } from '@muster/platform/log';
import { Type } from 'typebox';
import { DESCRIPTIONS, STATUSES, type Status } from './status.js';

const text = (description: string) => Type.String({ description });

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
    },
  ]),
) as Record<StatusType, { summary: string; attributes: typeof attributes; data: typeof data }>;

/** What is told of jobs: every change of status (sheet §9.2). */
export const JOB_EVENTS = new OwnEvents({ prefix: 'job.', followers: 'job:admin', schemas: statusSchemas });

export function statusType(status: Status): StatusType {
  return `job.${status.toLowerCase() as Lowercase<Status>}`;
}
