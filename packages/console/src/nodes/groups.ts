import { print } from '@muster/selector';
import type { Fleet, FleetNode } from '../live/fleet.js';
import { equals } from '../parts/equals.js';

/** Nodes that have the same value of one label or fact. */
export interface Group {
  /** Null: they have none. */
  readonly value: string | number | boolean | null;
  readonly count: number;
}

const LOOKED_AT = 500;

/** In selectors they are what Muster says of a node, whatever it tells itself. */
const MUSTERS_OWN: ReadonlySet<string> = new Set(['name', 'status', 'via', 'availability', 'dialect', 'command']);

/** Names of the labels and facts that nodes have, those of most nodes first. */
export function namesTold(fleet: Fleet): readonly string[] {
  const counts = new Map<string, number>();
  let seen = 0;
  for (const { facts, labels } of fleet.values()) {
    for (const name of new Set([...Object.keys(labels), ...Object.keys(facts)])) {
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    seen += 1;
    // Nodes are much alike.
    if (seen === LOOKED_AT) break;
  }
  return [...counts]
    .filter(([name]) => !MUSTERS_OWN.has(name) && !name.includes('\\'))
    .sort((a, b) => b[1] - a[1])
    .map(([name]) => name);
}

/** A label goes before a fact of the same name, as in selectors. */
export function toldBy({ labels, facts }: FleetNode, name: string): Group['value'] {
  if (Object.hasOwn(labels, name)) return labels[name] ?? null;
  return Object.hasOwn(facts, name) ? (facts[name] ?? null) : null;
}

/** The largest first. */
export function groupsOf(nodes: Iterable<FleetNode>, name: string): readonly Group[] {
  const counts = new Map<Group['value'], number>();
  for (const node of nodes) {
    const value = toldBy(node, name);
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .sort((a, b) => b.count - a.count || (String(a.value) < String(b.value) ? -1 : 1));
}

const MOST_VALUES = 50;

/** Values that nodes have of one label or fact, those of most nodes first. */
export function valuesTold(fleet: Fleet, name: string): readonly string[] {
  return groupsOf([...fleet.values()].slice(0, LOOKED_AT), name)
    .flatMap(({ value }) => (value === null ? [] : [String(value)]))
    .slice(0, MOST_VALUES);
}

/** A selector for those of them that are in one group. */
export function narrowed(query: string, name: string, value: Group['value']): string {
  const term =
    value === null ? print({ kind: 'null', value: { kind: 'attribute', name }, negated: false }) : equals(name, value);
  if (query.trim() === '') return term;
  return /\bOR\b/i.test(query) ? `(${query}) AND ${term}` : `${query} AND ${term}`;
}
