import { applyToQueues, type Queue } from '../live/queues.js';
import { type Kept, useReading } from '../live/reading.js';
import { signedIn } from '../session/session.js';

const QUEUE_EVENTS = "type LIKE 'queue.%' OR type LIKE 'task.%' OR type IN ('node.up', 'node.down')";

export interface ReadQueues {
  readonly queues: readonly Queue[];
  /** When it was read: what ended within a minute is told of then. */
  readonly at: number;
}

/** All queues. */
export function useQueues(): Kept<ReadQueues> {
  const { api } = signedIn();
  return useReading<ReadQueues>({
    key: 'queues',
    selector: QUEUE_EVENTS,
    read: async (signal) => {
      const answer = await api.get<readonly Queue[]>('/queues', {}, signal);
      return { ...answer, body: { queues: answer.body, at: Date.now() } };
    },
    apply: (before, events) => {
      const { state, stale } = applyToQueues(before.queues, events);
      return { state: state === before.queues ? before : { ...before, queues: state }, stale };
    },
  });
}
