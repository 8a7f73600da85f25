import { parseSelector, print, SelectorError } from '@muster/selector';
import type { ListedTask } from '../live/tasks.js';

/** Most that are offered. */
const MOST = 3;

/** What somebody may mean who filters tasks by a word alone: a parameter that is so, of those that these tasks have. */
export function filtersOfWord(q: string, tasks: readonly Pick<ListedTask, 'params'>[]): readonly string[] {
  try {
    const word = parseSelector(q, { sugar: true });
    if ((word.kind !== 'match' && word.kind !== 'glob') || word.attribute !== 'name') return [];
    const names = new Set(tasks.flatMap(({ params }) => Object.keys(params)));
    return [...names].slice(0, MOST).map((name) => print({ ...word, attribute: `params.${name}` }));
  } catch (error) {
    if (error instanceof SelectorError) return [];
    throw error;
  }
}
