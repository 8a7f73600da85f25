import type { Facts, FactValue } from '@muster/wire';

/** What became of one fact or label. */
export interface FactChange {
  readonly name: string;
  readonly of: 'fact' | 'label';
  /** Null: there was none. */
  readonly from: FactValue | null;
  /** Null: there is none any more. */
  readonly to: FactValue | null;
}

export interface FactChanges {
  readonly changes: FactChange[];
  /** How many more there are than are told. */
  readonly omitted: number;
}

/** They move by themselves, which is nobody's history. */
const RESTLESS: ReadonlySet<string> = new Set(['uptime', 'memory_free']);
const TOLD = 50;
const TEXT = 200;

interface Reported {
  readonly facts: Facts;
  readonly labels: Facts;
}

/** What differs, by name. */
export function factChanges(before: Reported, after: Reported): FactChanges {
  const all = [
    ...differences('fact', before.facts, after.facts).filter(({ name }) => !RESTLESS.has(name)),
    ...differences('label', before.labels, after.labels),
  ];
  return { changes: all.slice(0, TOLD), omitted: Math.max(0, all.length - TOLD) };
}

function differences(of: FactChange['of'], before: Facts, after: Facts): FactChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names
    .filter((name) => before[name] !== after[name])
    .map((name) => ({ name, of, from: shown(before[name]), to: shown(after[name]) }));
}

function shown(value: FactValue | undefined): FactValue | null {
  if (value === undefined) return null;
  return typeof value === 'string' && value.length > TEXT ? `${value.slice(0, TEXT)}…` : value;
}
