import { OwnEvents } from '@muster/platform/log';
import { Type } from 'typebox';

const text = (description: string) => Type.String({ description });

const about = {
  runbook: text('Id of the runbook'),
  name: text('Its name'),
  by: text('Who did it'),
};
const version = Type.Integer({ description: 'Its version' });

/** What is told of saved commands. */
export const RUNBOOK_EVENTS = new OwnEvents({
  prefix: 'runbook.',
  followers: 'push:read',
  schemas: {
    'runbook.created': {
      summary: 'A runbook was made.',
      attributes: Type.Object({ ...about, version }),
      data: Type.Object({}),
    },
    'runbook.changed': {
      summary: 'A runbook has a new version.',
      attributes: Type.Object({ ...about, version }),
      data: Type.Object({}),
    },
    'runbook.removed': {
      summary: 'A runbook was deleted. What it has started goes on.',
      attributes: Type.Object(about),
      data: Type.Object({}),
    },
    'runbook.ran': {
      summary: 'A runbook was run.',
      attributes: Type.Object({ ...about, version, job: text('Id of the push job that was started') }),
      data: Type.Object({
        parameters: Type.Record(Type.String(), Type.String(), {
          description: 'As they may be shown: of a secret `***`, of a file its hash',
        }),
      }),
    },
  },
});
