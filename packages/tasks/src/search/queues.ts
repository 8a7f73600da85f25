import type { TaskController } from '../ports.js';
import type { SearchedQueue } from './attributes.js';

/** Queues of one organization by their ids; each is looked at once. */
export function queuesById(
  controller: Pick<TaskController, 'queue'>,
  orgId: string,
): (id: string) => SearchedQueue | undefined {
  const known = new Map<string, SearchedQueue | undefined>();
  return (id) => {
    if (!known.has(id)) known.set(id, controller.queue(orgId, id));
    return known.get(id);
  };
}
