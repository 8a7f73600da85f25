import { compile, parseSelector, SelectorError } from '@muster/selector';
import { type attributesOf, type FleetNode, OWNERS, type Owner } from '../live/fleet.js';

export const SORTS = ['name', 'owner', 'since', 'os'] as const;

/** Whether a filter lets a node in; null: it cannot be read. */
export function matcherOf(query: string): ((node: ReturnType<typeof attributesOf>) => boolean) | null {
  if (query.trim() === '') return () => true;
  try {
    return compile(parseSelector(query, { sugar: true }));
  } catch (error) {
    if (error instanceof SelectorError) return null;
    throw error;
  }
}

/** An order in which no two nodes are alike. `-since`: the other way round. */
export function comparison(sort: string): (a: FleetNode, b: FleetNode) => number {
  const down = sort.startsWith('-');
  const by = down ? sort.slice(1) : sort;
  const sign = down ? -1 : 1;
  return (a, b) => sign * (compare(a, b, by) || order(a.name, b.name));
}

function compare(a: FleetNode, b: FleetNode, by: string): number {
  switch (by) {
    case 'owner':
      return OWNERS.indexOf(a.owner) - OWNERS.indexOf(b.owner);
    case 'since':
      return b.since - a.since;
    case 'os':
      return order(osOf(a), osOf(b));
    default:
      return 0;
  }
}

/** What a node says of its system; '': nothing. */
export function osOf({ facts }: FleetNode): string {
  return String(facts.os ?? facts.platform ?? '');
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function isOwner(text: string | null): text is Owner {
  return text !== null && (OWNERS as readonly string[]).includes(text);
}

/** Of nodes of an owner. No selector tells those in a job from those in rehab: the reason in the list does. */
const OF_OWNER: Readonly<Record<Owner, string>> = {
  idle: 'availability:available',
  job: 'status:up AND availability:unavailable',
  rehab: 'status:up AND availability:unavailable',
  down: 'status:down',
};

/** As a selector what the filter and the choice of an owner show together; null: all nodes. */
export function whereOf(q: string, owner: Owner | null): string | null {
  const where = q.trim();
  if (owner === null) return where === '' ? null : where;
  return where === '' ? OF_OWNER[owner] : `(${where}) AND ${OF_OWNER[owner]}`;
}

const MOST_WORDS = 200;

/** Names that a filter may be made of. @param told What nodes tell. */
export function attributeWords(told: readonly string[]): readonly string[] {
  return ['name', 'status', 'via', 'availability', 'dialect', 'command', ...told].slice(0, MOST_WORDS);
}
