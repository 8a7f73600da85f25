import { OwnEvents } from '@muster/platform/log';
import { Type } from 'typebox';

const text = (description: string) => Type.String({ description });
const about = { rule: text('Id of the rule'), name: text('Its name') };
const of = {
  ...about,
  event: text('Type of the event for which it ran'),
  position: Type.Integer({ description: 'Position of that event' }),
};

/** What is told of rules. No rule is started by these. */
export const RULE_EVENTS = new OwnEvents({
  prefix: 'rule.',
  followers: 'push:read',
  schemas: {
    'rule.created': {
      summary: 'A rule was made.',
      attributes: Type.Object({ ...about, by: text('Who did it') }),
      data: Type.Object({}),
    },
    'rule.changed': {
      summary: 'A rule was changed.',
      attributes: Type.Object({ ...about, by: text('Who did it') }),
      data: Type.Object({}),
    },
    'rule.removed': {
      summary: 'A rule was deleted. What it has started goes on.',
      attributes: Type.Object({ ...about, by: text('Who did it') }),
      data: Type.Object({}),
    },
    'rule.ran': {
      summary: 'A rule has started something.',
      attributes: Type.Object({
        ...of,
        kind: text('`runbook`, `task` or `job`'),
        run: text('Id of the push job, of the approval that it waits for, of the task or of the job'),
      }),
      data: Type.Object({}),
    },
    'rule.failed': {
      summary: 'A rule could not start what it should.',
      attributes: Type.Object({ ...of, kind: text('`runbook`, `task` or `job`') }),
      data: Type.Object({ reason: text('Why') }),
    },
    'rule.skipped': {
      summary: 'A rule starts nothing for some events: told of the first of them.',
      attributes: Type.Object({
        ...of,
        why: text(
          '`limit`: as often as it may it has run; `loop`: rules started it; `calendar`: at its time nothing is to be started',
        ),
      }),
      data: Type.Object({}),
    },
  },
});
