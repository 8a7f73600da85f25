import { readOwnEvent, readSubject } from '@muster/platform/log';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { historySubject } from './events.js';
import type { FactChanges } from './fact-changes.js';
import type { NodeView } from './types.js';

export interface HistoryEntry extends FactChanges {
  /** Of its event. */
  readonly position: number;
  readonly at: number;
}

/** What changed of a node's facts and labels after this position, as long as the log of events keeps it; the oldest first. */
export async function historyOf(
  read: Kysely<Schema>,
  { org, name }: NodeView,
  after: number,
  limit: number,
): Promise<readonly HistoryEntry[]> {
  const events = await readSubject(read, historySubject(org, name), after, limit);
  return events.slice(0, limit).map(({ position, at, event }) => {
    const { changes, omitted } = readOwnEvent(event).data as FactChanges;
    return { position, at, changes, omitted };
  });
}
