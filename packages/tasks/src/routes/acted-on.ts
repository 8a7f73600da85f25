import { isId } from '../ids.js';
import { invalid } from '../request/fields.js';
import type { SearchedQueue } from '../search/attributes.js';
import { readTaskQuery, type TaskQuery } from '../search/query.js';

/** Tasks that somebody wants to act on: those of a selector, or those named. */
export type ActedOn =
  | { readonly ids: readonly string[]; readonly query: null }
  | { readonly ids: null; readonly query: TaskQuery };

/**
 * @param queues Those of the organization. @param queueId Only tasks of this queue.
 * @throws MusterError `invalid_field`, `invalid_selector`, `not_found` for a queue.
 */
export function readActedOn(
  { ids, where }: { readonly ids?: readonly string[]; readonly where?: string },
  queues: () => readonly SearchedQueue[],
  queueId: string | undefined,
): ActedOn {
  if ((ids === undefined) === (where === undefined)) throw invalid('where', 'give either `where` or `ids`');
  if (ids === undefined) return { ids: null, query: readTaskQuery(where ?? '', queues, queueId) };
  const wrong = ids.findIndex((id) => !isId(id));
  if (wrong >= 0) {
    const shown = JSON.stringify(ids[wrong]?.slice(0, 40));
    throw invalid(`ids.${wrong}`, `${shown} is no id of a task: 24 of 0-9 and a-f, as \`muster task list\` shows`);
  }
  return { ids: [...new Set(ids)], query: null };
}
