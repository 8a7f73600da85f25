import type { RoutingAttributes } from './attributes.js';
import { type Filter, readFilter } from './filter.js';
import type { JobQueue } from './types.js';

/** A queue, ready to be asked. */
export interface Candidate {
  readonly queue: JobQueue;
  /** Or why what is stored cannot be understood: it matches nothing. */
  readonly filter: Filter | { readonly broken: string };
}

/** How one queue answered, for `job-queue test`. */
export interface Answer {
  readonly queue: JobQueue;
  readonly matched: boolean;
  /** JOBS_QUEUE_FILTER_PARSE_ERROR or JOBS_QUEUE_FILTER_EVAL_ERROR, and why; null: it could be evaluated. */
  readonly error: string | null;
  /** What the filter asked about, with the values seen. */
  readonly values: RoutingAttributes;
}

/** In the order in which they are asked. */
export function candidatesOf(queues: readonly JobQueue[]): readonly Candidate[] {
  return [...queues].sort((a, b) => b.priority - a.priority).map((queue) => ({ queue, filter: stored(queue) }));
}

/** It was checked when it was stored, but perhaps by another version. */
function stored({ filter }: JobQueue): Candidate['filter'] {
  try {
    return readFilter(filter, 'filter');
  } catch (error) {
    return { broken: error instanceof Error ? error.message : String(error) };
  }
}

/** A filter that fails matches nothing (sheet §4.6). */
export function ask({ queue, filter }: Candidate, attributes: RoutingAttributes): Answer {
  if ('broken' in filter) return { queue, matched: false, error: filter.broken, values: {} };
  const values = Object.fromEntries(filter.attributes.map((name) => [name, own(attributes, name)]));
  try {
    return { queue, matched: filter.matches(attributes), error: null, values };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { queue, matched: false, error: `JOBS_QUEUE_FILTER_EVAL_ERROR ${queue.name}: ${reason}`, values };
  }
}

function own(attributes: RoutingAttributes, name: string): string | number | boolean | null {
  return Object.hasOwn(attributes, name) ? (attributes[name] ?? null) : null;
}

/** The first that matches. `failed` is told of filters that could not be evaluated. */
export function choose(
  candidates: readonly Candidate[],
  attributes: RoutingAttributes,
  failed: (answer: Answer) => void,
): JobQueue | null {
  for (const candidate of candidates) {
    const answer = ask(candidate, attributes);
    if (answer.matched) return answer.queue;
    if (answer.error !== null) failed(answer);
  }
  return null;
}
