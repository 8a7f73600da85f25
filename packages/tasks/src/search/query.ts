import {
  attributesOf,
  type Condition,
  compile,
  parseSelector,
  replaceEqualities,
  SelectorError,
} from '@muster/selector';
import { MusterError } from '../errors.js';
import { isId } from '../ids.js';
import { STATUS_NAMES } from '../status.js';
import {
  ATTRIBUTE_NAMES,
  attributeReader,
  isTaskAttribute,
  type SearchedQueue,
  type SearchedTask,
} from './attributes.js';
import { type Narrowing, narrow } from './narrowing.js';

/** A selector of tasks, understood. */
export interface TaskQuery {
  readonly narrowing: Narrowing;
  readonly matches: (task: SearchedTask) => boolean;
}

/**
 * Understands a selector of tasks: `queue:resize AND status:failed AND params.width > 100`. Empty: all tasks.
 * @param queues Those of the organization, asked for when the selector speaks of them.
 * @param within Only tasks of this queue, by its id.
 * @throws MusterError `invalid_selector`, `invalid_field`, `not_found` for a queue.
 */
export function readTaskQuery(text: string, queues: () => readonly SearchedQueue[], within?: string): TaskQuery {
  const expression = withQueueIds(parsed(text));
  const names = attributesOf(expression);
  for (const name of names) checkAttribute(name);
  checkStatuses(expression);
  const narrowing = narrow(expression, queues);
  const read = attributeReader(names);
  const predicate = compile(expression);
  return {
    narrowing: within === undefined ? narrowing : inQueue(narrowing, within),
    matches: (task) => (within === undefined || task.row.queue_id === within) && predicate(read(task)),
  };
}

function inQueue(narrowing: Narrowing, queue: string): Narrowing {
  const { queues } = narrowing;
  return { ...narrowing, queues: queues === null || queues.includes(queue) ? [queue] : [] };
}

function parsed(text: string): Condition {
  try {
    return parseSelector(text, { sugar: true });
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    const { position, reason, hint } = error;
    throw new MusterError('invalid_selector', { position, reason, hint }, { cause: error });
  }
}

/** A queue may be named by its id, too. */
function withQueueIds(expression: Condition): Condition {
  const isQueueId = (value: unknown) => typeof value === 'string' && isId(value);
  return replaceEqualities(expression, (attribute, values) =>
    attribute === 'queue' && values.every(isQueueId) ? 'queue_id' : attribute,
  );
}

function invalid(reason: string): MusterError {
  return new MusterError('invalid_field', { field: 'q', reason });
}

/** A typing error must not look like an answer. */
function checkAttribute(name: string): void {
  if (isTaskAttribute(name)) return;
  if (name === 'name') throw invalid('a word alone means nothing here: write queue:resize, status:failed or id:ID');
  const shown = name.slice(0, 40);
  throw invalid(`tasks have no '${shown}', but ${ATTRIBUTE_NAMES.join(', ')} and params.NAME`);
}

function checkStatuses(expression: Condition): void {
  const words: ReadonlySet<unknown> = new Set(STATUS_NAMES);
  replaceEqualities(expression, (attribute, values) => {
    const wrong = attribute === 'status' ? values.find((value) => !words.has(value)) : undefined;
    if (wrong === undefined) return attribute;
    if (!Number.isNaN(Number(wrong)))
      throw invalid(`a status is a word; its number is 'code': code = ${Number(wrong)}`);
    throw invalid(`'${String(wrong).slice(0, 40)}' is no status: one of ${STATUS_NAMES.join(', ')}`);
  });
}
