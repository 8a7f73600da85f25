import { compileSearch } from '@muster/nodes';
import { MusterError } from '../errors.js';
import { TASK_LIMITS } from '../limits.js';
import type { AskedRules, NewQueue, QueueChanges } from '../ports.js';

/** What is said of a queue, checked: every complaint names the field. */

const SORTS = ['fifo', 'lifo', 'default'];
const STATES = ['open', 'paused', 'draining'];
const LARGEST = 2_147_483_647;

function invalid(field: string, reason: string): MusterError {
  return new MusterError('invalid_field', { field, reason });
}

/** @throws MusterError `invalid_field`, `invalid_selector`. */
export function checkQueue(queue: NewQueue | QueueChanges): void {
  if (queue.name !== undefined) checkName('name', queue.name);
  if (queue.plugin !== undefined) checkName('plugin', queue.plugin);
  if (queue.threads !== undefined && queue.threads !== null) checkInteger('threads', queue.threads, 0, LARGEST);
  if (queue.state !== undefined && !STATES.includes(queue.state))
    throw invalid('state', `expected ${STATES.join(', ')}`);
  checkRules(queue.rules ?? {});
}

function checkRules(rules: AskedRules): void {
  const { sort, nodes, ignoreNodes, weight, key, rate, retry, orphanRetries, timeout, outputLimit, keep } = rules;
  if (sort !== undefined && !SORTS.includes(sort)) throw invalid('sort', `expected ${SORTS.join(', ')}`);
  if (typeof nodes === 'string') compileSearch(nodes);
  if (typeof ignoreNodes === 'string') compileSearch(ignoreNodes);
  if (weight !== undefined) checkNumber('weight', weight, 0.001, 1000);
  if (key) {
    checkName('key.param', key.param);
    checkInteger('key.limit', key.limit, 1, LARGEST);
  }
  if (rate) {
    checkInteger('rate.tasks', rate.tasks, 1, LARGEST);
    checkNumber('rate.seconds', rate.seconds, 0.001, LARGEST);
  }
  if (retry) {
    checkInteger('retry.limit', retry.limit, 0, 1000);
    checkNumber('retry.first', retry.first, 0, LARGEST);
    checkNumber('retry.longest', retry.longest, 0, LARGEST);
  }
  if (orphanRetries !== undefined) checkInteger('orphan_retries', orphanRetries, 0, 1000);
  if (timeout !== undefined && timeout !== null) checkNumber('timeout', timeout, 0.001, LARGEST);
  if (outputLimit !== undefined) checkInteger('output_limit', outputLimit, 1, LARGEST);
  if (keep !== undefined && keep !== null) checkNumber('keep', keep, 0, LARGEST);
}

function checkName(field: string, name: string): void {
  if (name === '') throw invalid(field, 'it must not be empty');
  if (name.length > TASK_LIMITS.name) throw invalid(field, `at most ${TASK_LIMITS.name} characters`);
  if (/\p{Cc}/u.test(name)) throw invalid(field, 'it must not hold control characters');
}

function checkNumber(field: string, value: number, least: number, most: number): void {
  if (!(value >= least && value <= most)) throw invalid(field, `expected a number from ${least} to ${most}`);
}

function checkInteger(field: string, value: number, least: number, most: number): void {
  if (!Number.isInteger(value)) throw invalid(field, 'expected a whole number');
  checkNumber(field, value, least, most);
}
