import { attributesOf, type Fleet, type FleetNode } from '../live/fleet.js';
import { comparison, matcherOf } from './rows.js';

/** The nodes of a filter in their order, as they are kept from one batch of events to the next. Pure. */
export interface OrderedNodes {
  readonly fleet: Fleet;
  readonly query: string;
  readonly sort: string;
  /** Null: the filter cannot be read. */
  readonly rows: readonly FleetNode[] | null;
}

/** Only nodes that have changed are looked at again, and put where they belong. */
export function orderedNodes(before: OrderedNodes | null, fleet: Fleet, query: string, sort: string): OrderedNodes {
  const same = before !== null && before.query === query && before.sort === sort ? before : null;
  if (same?.fleet === fleet) return same;
  const matches = matcherOf(query);
  if (matches === null) return { fleet, query, sort, rows: null };
  const compare = comparison(sort);
  const known: Fleet = same?.fleet ?? new Map();
  const all = query.trim() === '';
  const changed: FleetNode[] = [];
  for (const node of fleet.values()) {
    if (known.get(node.name) !== node && (all || matches(attributesOf(node)))) changed.push(node);
  }
  const kept = (same?.rows ?? []).filter((node) => fleet.get(node.name) === node);
  return { fleet, query, sort, rows: merged(kept, changed.sort(compare), compare) };
}

type Compare = (a: FleetNode, b: FleetNode) => number;

/** Of two lists that are in order one. */
function merged(kept: readonly FleetNode[], changed: readonly FleetNode[], compare: Compare): readonly FleetNode[] {
  if (changed.length === 0) return kept;
  const all: FleetNode[] = [];
  let next = 0;
  for (const node of changed) {
    const to = placeOf(node, kept, next, compare);
    for (; next < to; next += 1) all.push(kept[next] as FleetNode);
    all.push(node);
  }
  for (; next < kept.length; next += 1) all.push(kept[next] as FleetNode);
  return all;
}

/** Where it belongs among these, from a place on. */
function placeOf(node: FleetNode, among: readonly FleetNode[], from: number, compare: Compare): number {
  let low = from;
  let high = among.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(among[middle] as FleetNode, node) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
