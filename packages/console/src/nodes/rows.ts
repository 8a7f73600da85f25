import { compile, parseSelector, SelectorError } from '@muster/selector';
import { attributesOf, type Fleet, type FleetNode, OWNERS, type Owner } from '../live/fleet.js';

export const SORTS = ['name', 'owner', 'since', 'os'] as const;

/** Nodes of a filter, in an order; null: the filter cannot be read. */
export function nodesMatching(fleet: Fleet, query: string): readonly FleetNode[] | null {
  const nodes = [...fleet.values()];
  if (query.trim() === '') return nodes;
  try {
    const matches = compile(parseSelector(query, { sugar: true }));
    return nodes.filter((node) => matches(attributesOf(node)));
  } catch (error) {
    if (error instanceof SelectorError) return null;
    throw error;
  }
}

/** `-since`: the other way round. */
export function sortedNodes(nodes: readonly FleetNode[], sort: string): readonly FleetNode[] {
  const down = sort.startsWith('-');
  const by = down ? sort.slice(1) : sort;
  const order = [...nodes].sort((a, b) => compare(a, b, by) || (a.name < b.name ? -1 : 1));
  return down ? order.reverse() : order;
}

function compare(a: FleetNode, b: FleetNode, by: string): number {
  switch (by) {
    case 'owner':
      return OWNERS.indexOf(a.owner) - OWNERS.indexOf(b.owner);
    case 'since':
      return b.since - a.since;
    case 'os':
      return String(a.facts.os ?? '').localeCompare(String(b.facts.os ?? ''));
    default:
      return 0;
  }
}

export function isOwner(text: string | null): text is Owner {
  return text !== null && (OWNERS as readonly string[]).includes(text);
}

/** Names that a filter may be made of, those of most nodes first. */
export function attributeWords(fleet: Fleet): readonly string[] {
  const counts = new Map<string, number>();
  let seen = 0;
  for (const { facts, labels } of fleet.values()) {
    for (const name of [...Object.keys(labels), ...Object.keys(facts)]) counts.set(name, (counts.get(name) ?? 0) + 1);
    seen += 1;
    // Nodes are much alike.
    if (seen === 500) break;
  }
  const own = ['name', 'status', 'availability', 'dialect', 'command'];
  return [...own, ...[...counts].sort((a, b) => b[1] - a[1]).map(([name]) => name)].slice(0, 200);
}
