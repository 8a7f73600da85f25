import type { NodeView } from '@muster/nodes';
import type { AllowedCommand, NodeCommands } from '@muster/wire';

export interface CountedCommand extends AllowedCommand {
  /** That allow it by this entry. */
  nodes: number;
}

export interface CommandCounts {
  /** By name. */
  readonly commands: readonly CountedCommand[];
  /** Nodes that tell what they allow. */
  readonly told: number;
  /** Of them, those that run whatever is asked for. */
  readonly any: number;
}

/** Which commands these nodes allow, and how many of them each. `search`: only those whose name or pattern has this in it. */
export function countCommands(
  nodes: readonly NodeView[],
  of: (node: NodeView) => NodeCommands | null,
  search = '',
): CommandCounts {
  const wanted = search.toLowerCase();
  const lists = new Map<NodeCommands, number>();
  for (const node of nodes) {
    const commands = of(node);
    if (commands !== null) lists.set(commands, (lists.get(commands) ?? 0) + 1);
  }
  const found = new Map<string, CountedCommand>();
  let told = 0;
  let any = 0;
  for (const [commands, times] of lists) {
    told += times;
    if (commands.any) any += times;
    for (const { name, pattern } of commands.list) {
      if (!`${name}\n${pattern ?? ''}`.toLowerCase().includes(wanted)) continue;
      const key = JSON.stringify([name, pattern]);
      const counted = found.get(key);
      if (counted === undefined) found.set(key, { name, pattern, nodes: times });
      else counted.nodes += times;
    }
  }
  const commands = [...found.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
  return { commands, told, any };
}
