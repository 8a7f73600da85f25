import { isId } from '../ids.js';
import { TASK_LIMITS } from '../limits.js';
import type { AskedRules, NewQueue, QueueChanges } from '../ports.js';
import { DEFAULT_RULES } from '../queues/rules.js';
import type { QueueBodyFields, QueueChangesFields } from '../routes/schemas.js';
import { readSecretNames } from '../secrets/use.js';
import type { RetryRule } from '../types.js';
import { invalid, text } from './fields.js';

/** What the layer itself does not check: it takes names that clients of the command interface give. @throws MusterError `invalid_field`. */
export function readNewQueue(body: QueueBodyFields): NewQueue {
  return {
    name: queueName(body.name),
    plugin: body.plugin,
    threads: body.threads ?? null,
    state: body.state ?? 'open',
    rules: readRules(body, DEFAULT_RULES.retry),
  };
}

/**
 * @param retry The rule there is, of which a part may be changed.
 * @throws MusterError `invalid_field`.
 */
export function readQueueChanges(body: QueueChangesFields, retry: RetryRule): QueueChanges {
  const { name, plugin, threads, state } = body;
  return {
    ...(name !== undefined && { name: queueName(name) }),
    ...(plugin !== undefined && { plugin }),
    ...(threads !== undefined && { threads }),
    ...(state !== undefined && { state }),
    rules: readRules(body, retry),
  };
}

/** A name that looks like an id would be taken for one, and `.` and `..` are no parts of an address. */
function queueName(value: string): string {
  const name = text('name', value, TASK_LIMITS.name);
  if (isId(name)) throw invalid('name', 'must not be 24 hex digits: that is an id');
  if (name === '.' || name === '..' || name !== name.trim()) {
    throw invalid('name', 'must be neither . nor .., and not begin or end with a blank');
  }
  return name;
}

function readRules(body: QueueChangesFields, retry: RetryRule): AskedRules {
  const { sort, nodes, ignore_nodes, weight, key, rate, orphan_retries, timeout, output_limit, keep } = body;
  const { writers, readers, secrets } = body;
  return {
    ...(sort !== undefined && { sort }),
    ...(nodes !== undefined && { nodes }),
    ...(ignore_nodes !== undefined && { ignoreNodes: ignore_nodes }),
    ...(weight !== undefined && { weight }),
    ...(key !== undefined && { key }),
    ...(rate !== undefined && { rate }),
    ...(body.retry !== undefined && { retry: { ...retry, ...body.retry } }),
    ...(orphan_retries !== undefined && { orphanRetries: orphan_retries }),
    ...(timeout !== undefined && { timeout }),
    ...(output_limit !== undefined && { outputLimit: output_limit }),
    ...(keep !== undefined && { keep }),
    ...(secrets !== undefined && { secrets: secrets && readSecretNames('secrets', secrets) }),
    ...(writers !== undefined && { writers: members('writers', writers) }),
    ...(readers !== undefined && { readers: members('readers', readers) }),
  };
}

const MEMBER = /^(?:(?:user|group|client):)?[\w.:@-]{1,255}$/;

function members(field: string, names: readonly string[]): readonly string[] {
  const wrong = names.findIndex((name) => !MEMBER.test(name));
  if (wrong >= 0) throw invalid(`${field}.${wrong}`, 'must be a user, group:NAME or client:NAME');
  return [...new Set(names)];
}
