import type { NodeView } from '@muster/nodes';
import type { Recordable } from '@muster/platform/log';
import type { NodeCommands } from '@muster/wire';
import { COMMAND_EVENTS } from './event-types.js';

const NAMED = 20;
const SHOWN_CHARACTERS = 200;

export function commandsEvent(node: NodeView, before: NodeCommands | null, now: NodeCommands | null): Recordable {
  const data = {
    commands: now === null ? null : now.list.length + now.omitted,
    added: notIn(before, now),
    removed: notIn(now, before),
    any: now?.any ?? false,
    scripts: now?.scripts ?? 'none',
  };
  return COMMAND_EVENTS.tell('node.commands', node.org, { node: node.name }, data);
}

function notIn(one: NodeCommands | null, other: NodeCommands | null): string[] {
  const known = new Set(one?.list.map((entry) => JSON.stringify(entry)));
  return (other?.list ?? [])
    .filter((entry) => !known.has(JSON.stringify(entry)))
    .slice(0, NAMED)
    .map(({ name }) => (name.length > SHOWN_CHARACTERS ? `${name.slice(0, SHOWN_CHARACTERS)}…` : name));
}
