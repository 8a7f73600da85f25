import { MusterError } from '../errors.js';
import { isId } from '../ids.js';
import { TASK_LIMITS } from '../limits.js';
import type { AskedOptions, NewTask } from '../ports.js';
import { readSecretNames } from '../secrets/use.js';
import type { Params, TaskOptions } from '../types.js';
import { checkKnown, type Fields, integer, invalid, isFields, text, time } from './fields.js';

const KNOWN: ReadonlySet<string> = new Set([
  'params',
  'priority',
  'not_before',
  'expires_at',
  'after',
  'unique',
  'retries',
  'timeout',
  'secrets',
]);
const UNIQUE: ReadonlySet<string> = new Set(['key', 'seconds']);

const MOST_PRIORITY = 1_000_000_000;
const YEAR = 31_536_000;
const DAY = 86_400;
const MOST_RETRIES = 1000;
/** Objects and lists inside each other, so that none is too deep to be written again. */
const MOST_NESTING = 100;

/**
 * A task as it is added: `{"params": {…}, "priority": 5}`.
 * @param maxParams Most bytes of its parameters, as JSON.
 * @param written So many bytes it was written in, where that is known: its parameters have no more.
 * @throws MusterError `invalid_params`, `invalid_field`.
 */
export function readNewTask(value: unknown, maxParams: number, written = Number.POSITIVE_INFINITY): NewTask {
  if (!isFields(value)) throw invalid('task', 'must be an object: {"params": {…}}');
  checkKnown(value, KNOWN);
  return {
    params: readParams(value.params === undefined ? {} : value.params, maxParams, written),
    options: readOptions(value),
  };
}

function readParams(value: unknown, limit: number, written: number): Params {
  const refused = (reason: string) => new MusterError('invalid_params', { reason, limit });
  if (!isFields(value)) throw refused('they are not an object');
  if (isDeeper(value, MOST_NESTING)) throw refused(`they are nested deeper than ${MOST_NESTING}`);
  const bytes = written <= limit ? 0 : Buffer.byteLength(JSON.stringify(value));
  if (bytes > limit) throw refused(`they have ${bytes} bytes, more than ${limit}`);
  return value as Params;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

function readOptions(value: Fields): AskedOptions {
  const { priority, not_before, expires_at, after, unique, retries, timeout, secrets } = value;
  return {
    ...(priority !== undefined && { priority: integer('priority', priority, -MOST_PRIORITY, MOST_PRIORITY) }),
    ...(isGiven(not_before) && { notBefore: time('not_before', not_before) }),
    ...(isGiven(expires_at) && { expiresAt: time('expires_at', expires_at) }),
    ...(after !== undefined && { after: readAfter(after) }),
    ...(isGiven(unique) && { unique: readUnique(unique) }),
    ...(isGiven(retries) && { retries: integer('retries', retries, 0, MOST_RETRIES) }),
    ...(isGiven(timeout) && { timeout: integer('timeout', timeout, 1, YEAR) }),
    ...(isGiven(secrets) && { secrets: readSecretNames('secrets', secrets) }),
  };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function readAfter(value: unknown): readonly string[] {
  const most = TASK_LIMITS.after;
  if (!Array.isArray(value) || value.length > most) throw invalid('after', `must be a list of at most ${most} ids`);
  const wrong = value.findIndex((id) => typeof id !== 'string' || !isId(id));
  if (wrong >= 0) throw invalid(`after.${wrong}`, 'must be the id of a task');
  return [...new Set<string>(value)];
}

function readUnique(value: unknown): TaskOptions['unique'] {
  if (!isFields(value)) throw invalid('unique', 'must be an object: {"key": "…", "seconds": 86400}');
  checkKnown(value, UNIQUE, 'unique.');
  const { key, seconds = DAY } = value;
  return {
    key: text('unique.key', key, TASK_LIMITS.idempotencyKey),
    seconds: integer('unique.seconds', seconds, 1, YEAR),
  };
}
