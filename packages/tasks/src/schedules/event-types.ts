import { OwnEvents } from '@muster/platform/log';
import { Type } from 'typebox';

const text = (description: string) => Type.String({ description });
const time = (description: string) => Type.Integer({ description: `${description}, in milliseconds since the epoch` });

const about = { schedule: text('Id of the schedule'), name: text('Its name') };
const by = { by: text('Who did it') };

/** What is told of schedules: never what they run, as of push jobs not everybody may know it who may read tasks. */
export const SCHEDULE_EVENTS = new OwnEvents({
  prefix: 'schedule.',
  followers: 'task:read',
  schemas: {
    'schedule.created': {
      summary: 'A schedule was made.',
      attributes: Type.Object({ ...about, ...by }),
      data: Type.Object({ cron: text('When it runs'), timezone: text('Whose clocks that means') }),
    },
    'schedule.changed': {
      summary: 'A schedule was changed, paused or resumed.',
      attributes: Type.Object({ ...about, ...by, state: text('`active`, `paused` or `held`') }),
      data: Type.Object({ changed: Type.Array(Type.String(), { description: 'Which of its fields' }) }),
    },
    'schedule.removed': {
      summary: 'A schedule was deleted. What it has started goes on.',
      attributes: Type.Object({ ...about, ...by }),
      data: Type.Object({}),
    },
    'schedule.ran': {
      summary: 'A schedule started something, at its time or because somebody said so.',
      attributes: Type.Object({
        ...about,
        task: Type.Optional(text('Id of the task that was added')),
        job: Type.Optional(text('Id of the push job that was started')),
      }),
      data: Type.Object({ due_at: time('The time that it was started for'), late_ms: Type.Integer() }),
    },
    'schedule.missed': {
      summary: 'A schedule was due and started nothing.',
      attributes: Type.Object({
        ...about,
        count: Type.Integer({ description: 'At how many times; 100 also for more' }),
      }),
      data: Type.Object({
        first_at: time('The first of these times'),
        last_at: time('The last of them'),
        reason: text('Why'),
      }),
    },
    'schedule.held': {
      summary: 'A schedule cannot run any more until somebody changes or resumes it.',
      attributes: Type.Object(about),
      data: Type.Object({ reason: text('Why') }),
    },
  },
});
