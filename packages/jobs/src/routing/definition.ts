import { namesOf } from '@muster/broker';
import { nearest, shown } from '@muster/platform/config';
import { checkText, invalid, isFields, Reader } from '../definition/reader.js';
import { ROUTING_ATTRIBUTES } from './attributes.js';
import { invalidQueue, type QueueProblem } from './errors.js';
import { type Filter, readFilter } from './filter.js';
import { DEFAULT_PRIORITY, DEFAULT_SUFFIX, type QueueDefinition } from './types.js';

const MOST_NAME = 255;
const CHARACTERS = /^[A-Za-z0-9_.:-]+$/;
/** Of what all tenants share. */
const RESERVED = /^aloe\.jobq\.AllTenants\./i;
const MOST_PRIORITY = 2_147_483_647;
/** Definitions in one file, and queues of an organization. */
export const MOST_QUEUES = 1000;

/** Who reads which definitions. */
interface Source {
  /** The organization they are for. */
  readonly tenant: string;
  /** Name of the file that they come from, for errors; null: they are changed one by one. */
  readonly file: string | null;
}

export function defaultQueueOf(tenant: string): string {
  return namesOf(tenant).submitPrefix + DEFAULT_SUFFIX;
}

/** A queue by its whole name, or by what that ends with. */
export function wholeName(tenant: string, name: string): string {
  const { submitPrefix } = namesOf(tenant);
  return name.includes('.') ? name : submitPrefix + name;
}

/**
 * One definition. @param path Of it in what was sent.
 * @throws MusterError `job_queue_invalid`, with a code of sheet §4.7; `invalid_field` for a field that there is not.
 */
export function readQueue(body: unknown, path: string, { tenant, file }: Source): QueueDefinition {
  if (!isFields(body))
    throw invalidQueue('JOBS_QUEUE_NULL', path, 'must be a JSON object with name, priority and filter');
  const reader = new Reader(body, path);
  const said = reader.value('name');
  if (said === undefined || (typeof said === 'string' && said.trim() === '')) {
    throw invalidQueue('JOBS_QUEUE_MISSING_NAME', reader.path('name'), 'it is missing');
  }
  const name = readName(said, reader.path('name'), tenant);
  checkTenant(reader, name, { tenant, file });
  const priority = readPriority(reader.value('priority'), reader.path('priority'));
  const isDefault = name === defaultQueueOf(tenant);
  if (isDefault !== (priority === DEFAULT_PRIORITY)) {
    const code = isDefault ? 'JOBS_QUEUE_INVALID_DEFAULT_QUEUE_DEF' : 'JOBS_QUEUE_INVALID_NON_DEFAULT_QUEUE_DEF';
    const rule = isDefault ? `must be ${DEFAULT_PRIORITY}` : `must be ${DEFAULT_PRIORITY + 1} or more`;
    throw invalidQueue(
      code,
      reader.path('priority'),
      `${rule}: ${DEFAULT_PRIORITY} is that of ${defaultQueueOf(tenant)}`,
    );
  }
  const filter = reader.value('filter');
  const empty = file === null ? 'JOBS_QUEUE_UPDATE_FILTER_EMPTY' : 'JOBS_QUEUE_FILTER_EMPTY';
  checkAttributes(readFilter(filter, reader.path('filter'), empty), reader.path('filter'));
  const updated = reader.optionalText('lastUpdated', { most: 40 });
  const ifUpdated = updated === null ? null : Date.parse(updated);
  if (Number.isNaN(ifUpdated)) throw invalid(reader.path('lastUpdated'), 'must be a time, as it is shown');
  // As it is shown.
  reader.ignore('uuid', 'created');
  reader.end();
  return { name, priority, filter: String(filter), ...(ifUpdated !== null && { ifUpdated }) };
}

/** Those of a file: a list, `{"queues": […]}`, or one definition alone. All are checked before any is stored. */
export function readQueues(body: unknown, source: Source): readonly QueueDefinition[] {
  const listed = isFields(body) && 'queues' in body ? body.queues : body;
  const list: readonly unknown[] = Array.isArray(listed) ? listed : [listed];
  if (list.length > MOST_QUEUES) {
    throw invalidQueue('JOBS_QUEUE_DEFINITIONS_LOAD_ERROR', 'queues', `must have at most ${MOST_QUEUES} definitions`);
  }
  const path = (at: number) => (Array.isArray(listed) ? `queues.${at}` : 'queue');
  const queues = list.map((one, at) => readQueue(one, path(at), source));
  for (const [at, { name, priority }] of queues.entries()) {
    const first = queues.findIndex((other) => other.name === name);
    if (first !== at)
      throw invalidQueue('JOBS_QUEUE_INVALID_NAME', `${path(at)}.name`, `it is also that of ${path(first)}`);
    const same = queues.findIndex((other) => other.priority === priority);
    if (same !== at) {
      throw invalidQueue(
        'JOBS_QUEUE_DUP_PRIORITY',
        `${path(at)}.priority`,
        `${priority} is also that of ${path(same)}`,
      );
    }
  }
  return queues;
}

/** The tenant of a file by its name, `TENANT.json`. @throws MusterError `job_queue_invalid` */
export function checkFile(file: string, tenant: string): void {
  const [, named] = /^(?:.*[/\\])?([^/\\]+)\.json$/i.exec(file) ?? [];
  if (named === undefined) {
    throw invalidQueue(
      'JOBS_QUEUE_MISSING_TENANT',
      'file',
      'a file of definitions is called by the organization: TENANT.json',
    );
  }
  if (named !== tenant) {
    const reason = `these are definitions of '${named.slice(0, 80)}', and the organization here is '${tenant}'`;
    throw invalidQueue('JOBS_QUEUE_MISMATCHED_TENANT', 'file', reason);
  }
}

function checkTenant(reader: Reader, name: string, { tenant, file }: Source): void {
  const found = reader.value('tenantId');
  const field = reader.path('tenantId');
  if (found === undefined || found === '') {
    // Who changes one queue of an organization has named that already.
    if (file === null) return;
    throw invalidQueue('JOBS_QUEUE_MISSING_TENANT_ID', field, 'it is missing');
  }
  if (found === tenant) return;
  if (file === null) {
    throw invalidQueue('JOBS_QUEUE_UPDATE_MISMATCHED_TENANT', field, `a queue of '${tenant}' stays one of it`);
  }
  const shown = checkText(field, found, { most: MOST_NAME });
  throw invalidQueue(
    'JOBS_QUEUE_WRONG_TENANT_ID',
    field,
    `queue ${name} in ${file} is of '${shown}', and '${tenant}' was expected`,
  );
}

function readName(name: unknown, field: string, tenant: string): string {
  const wrong = (code: QueueProblem, reason: string) => invalidQueue(code, field, reason);
  if (typeof name !== 'string') throw wrong('JOBS_QUEUE_INVALID_NAME', 'must be text');
  if (name.length > MOST_NAME) throw wrong('JOBS_QUEUE_LONG_NAME', `must have at most ${MOST_NAME} characters`);
  if (!CHARACTERS.test(name)) {
    throw wrong('JOBS_QUEUE_INVALID_NAME', 'must have letters, digits, hyphens, underscores, periods and colons only');
  }
  if (RESERVED.test(name))
    throw wrong('JOBS_QUEUE_RESERVED_NAME_PREFIX', 'AllTenants is no tenant: such names are reserved');
  const { submitPrefix } = namesOf(tenant);
  if (!name.startsWith(submitPrefix)) throw wrong('JOBS_QUEUE_INVALID_NAME_PREFIX', `must begin with ${submitPrefix}`);
  const suffix = name.slice(submitPrefix.length);
  if (suffix === '') throw wrong('JOBS_QUEUE_NAME_NO_SUFFIX', `a name follows ${submitPrefix}`);
  if (suffix.includes('.')) throw wrong('JOBS_QUEUE_INVALID_NAME_SUFFIX', `no period follows ${submitPrefix}`);
  return name;
}

/** What no request has is always unknown: a filter that asks about it is misspelt. Those that are stored already go on. */
function checkAttributes({ attributes }: Filter, field: string): void {
  const unknown = attributes.find((name) => !ROUTING_ATTRIBUTES.includes(name));
  if (unknown === undefined) return;
  const meant = nearest(unknown, ROUTING_ATTRIBUTES);
  const advice = meant === undefined ? `it is one of ${ROUTING_ATTRIBUTES.join(', ')}` : `did you mean ${meant}?`;
  throw invalidQueue('JOBS_QUEUE_FILTER_PARSE_ERROR', field, `requests have no '${shown(unknown)}': ${advice}`);
}

function readPriority(priority: unknown, field: string): number {
  if (typeof priority === 'number' && Number.isInteger(priority) && priority >= 1 && priority <= MOST_PRIORITY)
    return priority;
  throw invalidQueue('JOBS_QUEUE_INVALID_PRIORITY', field, `must be a whole number from 1 to ${MOST_PRIORITY}`);
}
