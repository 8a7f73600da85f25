import { type NodeRegistry, OrgParams, searchNodes } from '@muster/nodes';
import type { App } from '@muster/platform/http';
import { Type } from 'typebox';
import { COMMANDS, MAX_SEARCH_LENGTH } from '../limits.js';
import { countCommands } from './count.js';
import type { ToldCommands } from './told-commands.js';

export interface CommandRouteDeps {
  readonly nodes: Pick<NodeRegistry, 'attributes' | 'list'>;
  readonly commands: Pick<ToldCommands, 'of'>;
}

const Answer = Type.Object({
  commands: Type.Array(
    Type.Object({
      name: Type.String({ description: 'The command as it is typed, or what a pattern is called' }),
      pattern: Type.Union([Type.String(), Type.Null()], {
        description: 'Regular expression that the whole command must match; null: the name is the command',
      }),
      nodes: Type.Integer({ description: 'How many nodes allow it by this entry' }),
    }),
    { description: 'By name' },
  ),
  more: Type.Integer({ description: 'How many further commands there are, which were not shown' }),
  nodes: Type.Integer({ description: 'Nodes that were looked at' }),
  told: Type.Integer({ description: 'Of them, those that tell what they allow' }),
  any: Type.Integer({ description: 'Of these, those that run whatever is asked for' }),
});

/** What can be run, on how many nodes. */
export function commandRoutes(app: App, { nodes, commands }: CommandRouteDeps): void {
  app.get(
    '/organizations/:org/pushy/commands',
    {
      config: { permission: 'node:read' },
      schema: {
        tags: ['push jobs'],
        operationId: 'listPushCommands',
        summary: 'Commands that nodes say they allow, and how many nodes each',
        params: OrgParams,
        querystring: Type.Object(
          {
            q: Type.Optional(Type.String({ maxLength: MAX_SEARCH_LENGTH, description: 'Only of nodes that match' })),
            search: Type.Optional(
              Type.String({ maxLength: 255, description: 'Only those with this in their name or pattern' }),
            ),
            limit: Type.Optional(Type.Integer({ minimum: 1, maximum: COMMANDS.mostShown })),
          },
          { additionalProperties: false },
        ),
        response: { 200: Answer },
      },
    },
    async (request) => {
      const { q, search, limit = COMMANDS.shown } = request.query;
      const all = nodes.list(request.organization.id);
      const matching = q === undefined ? all : searchNodes(nodes, all, q);
      const counts = countCommands(matching, (node) => commands.of(node), search);
      const shown = counts.commands.slice(0, limit);
      return { ...counts, commands: shown, more: counts.commands.length - shown.length, nodes: matching.length };
    },
  );
}
