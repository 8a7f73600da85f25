import { OwnEvents } from '@muster/platform/log';
import { Type } from 'typebox';

const text = (description: string) => Type.String({ description });

const about = {
  approval: text('Id of the approval'),
  kind: text('What is asked for: `command`, `runbook`, `schedule` or `rule`'),
  runbook: Type.Optional(text('Name of the runbook')),
  schedule: Type.Optional(text('Name of the schedule')),
  rule: Type.Optional(text('Name of the rule')),
};
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
        expires_at: text('ISO 8601'),
      }),
    },
    'approval.agreed': {
      summary: 'Somebody agreed, and others have to besides.',
      attributes: Type.Object({ ...about, ...by }),
      data: Type.Object({
        hash: text('Of what they agreed to'),
        missing: Type.Integer({ description: 'How many have to agree yet' }),
      }),
    },
    'approval.granted': {
      summary: 'As many as have to agreed, and what was asked for was started or made.',
      attributes: Type.Object({ ...about, ...by, job: Type.Optional(text('Id of the push job')) }),
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
