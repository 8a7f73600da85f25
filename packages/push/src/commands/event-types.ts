import { OwnEvents } from '@muster/platform/log';
import { Type } from 'typebox';

const named = (description: string) =>
  Type.Array(Type.String(), { description: `${description}; the first 20 of them` });

/** What is told of what nodes allow, to those who may follow what is told of nodes. */
export const COMMAND_EVENTS = new OwnEvents({
  prefix: 'node.',
  followers: 'node:read',
  schemas: {
    'node.commands': {
      summary: 'A node tells that its owner allows other commands, scripts or files than before.',
      attributes: Type.Object({ node: Type.String({ description: 'Name of the node' }) }),
      data: Type.Object({
        commands: Type.Union([Type.Integer(), Type.Null()], {
          description: 'How many entries its list has; null: it does not tell any more',
        }),
        added: named('Entries that are new'),
        removed: named('Entries that are gone'),
        any: Type.Boolean({ description: 'Whether it runs whatever is asked for' }),
        scripts: Type.String({ description: '`any`, `signed` or `none`' }),
      }),
    },
  },
});
