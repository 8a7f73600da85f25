import type { NodeAspect, NodeView } from '@muster/nodes';
import type { NodeCommands } from '@muster/wire';
import { Type } from 'typebox';

const names = new WeakMap<NodeCommands, readonly string[]>();

/** What is shown of the commands that a node allows, wherever nodes are shown. */
export function commandsAspect(told: { of(node: NodeView): NodeCommands | null }): NodeAspect {
  return {
    fields: {
      commands: Type.Optional(
        Type.Object(
          {
            list: Type.Array(
              Type.Object({
                name: Type.String({ description: 'The command as it is typed, or what a pattern is called' }),
                pattern: Type.Union([Type.String(), Type.Null()], {
                  description: 'Regular expression that the whole command must match; null: the name is the command',
                }),
              }),
            ),
            omitted: Type.Integer({ description: 'Entries that were too many, or too long, to be told' }),
            any: Type.Boolean({ description: 'Runs whatever is asked for' }),
            scripts: Type.Union([Type.Literal('any'), Type.Literal('signed'), Type.Literal('none')]),
            uploads: Type.Boolean({ description: 'Takes files at some place' }),
            fetches: Type.Boolean({ description: 'Gives some files' }),
          },
          { description: 'What its owner allows push jobs, as the node tells it; absent: it does not tell' },
        ),
      ),
    },
    describe(node) {
      const commands = told.of(node);
      return commands === null ? {} : { commands };
    },
    labels: {},
    attributes(node): { readonly command?: readonly string[] } {
      const commands = told.of(node);
      return commands === null ? {} : { command: namesOf(commands) };
    },
    changed: () => ({}),
    explain: () => ({ available: true, sentences: [] }),
    assertRemovable() {},
  };
}

function namesOf(commands: NodeCommands): readonly string[] {
  let found = names.get(commands);
  if (found === undefined) {
    found = commands.list.map(({ name }) => name);
    names.set(commands, found);
  }
  return found;
}
