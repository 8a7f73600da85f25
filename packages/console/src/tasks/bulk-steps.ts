import type { TasksActedOn } from '../api/types.gen.js';

/** What several answers about many tasks say together. Pure. */

export interface Count {
  readonly matched: number;
  /** Ids of some of them. */
  readonly sample: readonly string[];
  /** Id of the last of them: what was added later is left. */
  readonly last: string | null;
  /** Those that would be left as they are, by reason. */
  readonly refused: Refused;
}

type Refused = TasksActedOn['refused'];

export const NOTHING_COUNTED: Count = { matched: 0, sample: [], last: null, refused: [] };

/** Ids that are shown. */
export const SAMPLE = 5;

export function counted(count: Count, { matched, sample, last, refused }: TasksActedOn): Count {
  return {
    matched: count.matched + matched,
    sample: [...count.sample, ...sample].slice(0, SAMPLE),
    last: last ?? count.last,
    refused: together(count.refused, refused),
  };
}

function together(before: Refused, more: Refused): Refused {
  const reasons = new Map(before.map((one) => [one.reason, one]));
  for (const one of more) {
    const known = reasons.get(one.reason);
    reasons.set(one.reason, known === undefined ? one : { ...known, tasks: known.tasks + one.tasks });
  }
  return [...reasons.values()];
}

/** Tasks that matched when they were counted, and did not any more when it was their turn. */
export function changedSince(counted: number | null, matched: number): number {
  return Math.max(0, (counted ?? 0) - matched);
}
