import type { BulkRun } from '../api/types.gen.js';
import { attribute, dataOf, type LiveEvent } from './event.js';

/** What events make of actions on many tasks. Pure. Stale: one began or is over, and the server knows more of it. */
export function applyToBulk(
  runs: readonly BulkRun[],
  events: readonly LiveEvent[],
): { readonly state: readonly BulkRun[]; readonly stale: boolean } {
  let stale = false;
  const after = new Map(runs.map((run) => [run.id, run]));
  for (const event of events) {
    const id = attribute(event, 'bulk');
    if (event.type !== 'task.bulk' || id === null) continue;
    const known = after.get(id);
    if (known === undefined || attribute(event, 'state') !== 'running') stale = true;
    const { matched, acted } = dataOf(event);
    // What was read may be further than an event that was told before.
    if (known?.state !== 'running' || typeof matched !== 'number' || typeof acted !== 'number') continue;
    if (matched > known.matched) after.set(id, { ...known, matched, acted });
  }
  const state = [...after.values()];
  return { state: state.every((run, index) => run === runs[index]) ? runs : state, stale };
}
