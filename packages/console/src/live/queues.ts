import type { Queues } from '../api/types.gen.js';
import { attribute, type LiveEvent } from './event.js';

export type Queue = Queues[number];
export type QueueState = Queue['state'];

export const QUEUE_STATES = ['open', 'paused', 'draining'] as const satisfies readonly QueueState[];

/** Queues, and what events make of them. Pure: what comes twice changes nothing. Counts only the list has. */
export function applyToQueues(
  queues: readonly Queue[],
  events: readonly LiveEvent[],
): { readonly state: readonly Queue[]; readonly stale: boolean } {
  let state = queues;
  for (const event of events) {
    const id = attribute(event, 'queue');
    if (id === null) continue;
    if (event.type === 'queue.removed') state = without(state, id);
    else if (event.type === 'queue.changed') state = changed(state, id, event);
  }
  return { state, stale: events.some(({ type }) => type !== 'queue.removed') };
}

function without(queues: readonly Queue[], id: string): readonly Queue[] {
  return queues.some((queue) => queue.id === id) ? queues.filter((queue) => queue.id !== id) : queues;
}

function changed(queues: readonly Queue[], id: string, event: LiveEvent): readonly Queue[] {
  const name = attribute(event, 'name');
  const state = QUEUE_STATES.find((each) => each === attribute(event, 'state'));
  const after = (queue: Queue): Queue => ({ ...queue, name: name ?? queue.name, state: state ?? queue.state });
  return queues.some((queue) => queue.id === id)
    ? queues.map((queue) => (queue.id === id ? after(queue) : queue))
    : queues;
}

const MINUTE_MS = 60_000;

/** Tasks that ended within the last minute, as it was read `agoMs` ago and nothing ended since. */
export function endedLastMinute({ ended_last_minute: ended }: Queue, agoMs: number): number {
  return agoMs >= MINUTE_MS ? 0 : ended;
}
