import { OwnEvents } from '@muster/platform/log';
import { Type } from 'typebox';

const text = (description: string) => Type.String({ description });

const about = { approval: text('Id of the approval'), runbook: text('Name of the runbook') };
const by = { by: text('Who did it') };

/** What is told of approvals. */
export const APPROVAL_EVENTS = new OwnEvents({
  prefix: 'approval.',
  followers: 'push:read',
  schemas: {
    'approval.asked': {
      summary: 'Somebody asked for a second person.',
      attributes: Type.Object({ ...about, ...by }),
      data: Type.Object({
        command: text('The command'),
        target: text('What the nodes are chosen by'),
        hash: text('Of everything that decides what would be started'),
        expires_at: Type.Integer({ description: 'Milliseconds since the epoch' }),
      }),
    },
    'approval.granted': {
      summary: 'It was granted, and what was asked for was started.',
      attributes: Type.Object({ ...about, ...by, job: text('Id of the push job') }),
      data: Type.Object({ hash: text('Of what was granted and started') }),
    },
    'approval.denied': {
      summary: 'It was denied, or taken back by who asked.',
      attributes: Type.Object({ ...about, ...by }),
      data: Type.Object({ reason: Type.Union([Type.String(), Type.Null()]) }),
    },
    'approval.expired': {
      summary: 'Nobody decided in time.',
      attributes: Type.Object(about),
      data: Type.Object({}),
    },
  },
});
