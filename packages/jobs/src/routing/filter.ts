import { type Attributes, compile, type Expression, parseSelector, SelectorError, type Value } from '@muster/selector';
import { invalidQueue, type QueueProblem } from './errors.js';

/** Characters (sheet §4.1). */
const MOST_FILTER = 4096;

/** A filter that was understood. */
export interface Filter {
  /** Names of the attributes that it asks about, in their order. */
  readonly attributes: readonly string[];
  /** True only if it is exactly true. @throws Error JOBS_QUEUE_FILTER_VALUE_ERROR for an attribute that is no value. */
  matches(attributes: Readonly<Record<string, unknown>>): boolean;
}

/**
 * Reads a filter: SQL-92 conditions, as in JMS. @param empty What is said of one without anything in it.
 * @throws MusterError `job_queue_invalid`: JOBS_QUEUE_FILTER_EMPTY, JOBS_QUEUE_FILTER_PARSE_ERROR
 */
export function readFilter(text: unknown, field: string, empty: QueueProblem = 'JOBS_QUEUE_FILTER_EMPTY'): Filter {
  const problem = (reason: string) => invalidQueue('JOBS_QUEUE_FILTER_PARSE_ERROR', field, reason);
  if (text === undefined || text === null) throw invalidQueue(empty, field, 'it is missing');
  if (typeof text !== 'string') throw problem('must be text');
  if (text.length > MOST_FILTER) throw problem(`must have at most ${MOST_FILTER} characters`);
  // The databases cannot hold it, and no filter needs it.
  if (/[\0\p{Surrogate}]/u.test(text)) throw problem('must be text without NUL');
  let expression: Expression;
  try {
    expression = parseSelector(text, { sugar: false });
  } catch (error) {
    if (error instanceof SelectorError) throw problem(error.message);
    throw error;
  }
  // The selector of everything is the empty one: a default queue is there for that already.
  if (expression.kind === 'everything') throw invalidQueue(empty, field, 'it is empty');
  const predicate = compile(expression);
  const attributes = [...new Set(namesIn(expression))].sort();
  return {
    attributes,
    matches(values) {
      for (const name of attributes) {
        if (!isValue(Object.hasOwn(values, name) ? values[name] : null)) {
          throw new Error(`JOBS_QUEUE_FILTER_VALUE_ERROR ${name} is neither text nor a number nor true or false`);
        }
      }
      return predicate(values as Attributes);
    },
  };
}

function isValue(value: unknown): boolean {
  return value === null || value === undefined || ['string', 'number', 'boolean'].includes(typeof value);
}

function* namesIn(node: Expression | Value): Generator<string> {
  switch (node.kind) {
    case 'attribute':
      yield node.name;
      return;
    case 'comparison':
    case 'arithmetic':
      yield* namesIn(node.left);
      yield* namesIn(node.right);
      return;
    case 'and':
    case 'or':
      for (const operand of node.operands) yield* namesIn(operand);
      return;
    case 'not':
    case 'negate':
      yield* namesIn(node.operand);
      return;
    case 'between':
      yield* namesIn(node.value);
      yield* namesIn(node.low);
      yield* namesIn(node.high);
      return;
    case 'like':
    case 'in':
    case 'null':
      yield* namesIn(node.value);
      return;
    case 'match':
    case 'glob':
    case 'range':
      yield node.attribute;
      return;
    case 'literal':
    case 'everything':
  }
}
