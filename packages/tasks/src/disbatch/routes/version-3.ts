import type { Json } from '@muster/wire';
import { isId } from '../../ids.js';
import { oid } from '../dialect.js';
import { deleteResult, inserted, insertManyResult, NOTHING_MATCHED, updateResult } from '../envelopes.js';
import { readFilter } from '../filter/read.js';
import { TASK_FIELDS } from '../filter/values.js';
import {
  answer,
  type DisbatchAnswer,
  type DisbatchCall,
  type DisbatchDeps,
  type DisbatchRoute,
  errorText,
  findQueue,
  queuesOf,
} from '../interface.js';
import { countOf, isTrue, type Parameters, parametersIn, readJson } from '../parameters.js';
import { Refusal } from '../refusal.js';
import { TaskSearch } from '../search.js';
import { readCount } from '../search-options.js';
import { taskDocuments } from '../task-document.js';
import { isObject } from '../values.js';
import { addFromCollection, addTasks, readTaskParams } from './add-tasks.js';
import { changeQueue, createQueue, deleteQueue, hasPlugin, shownQueue } from './queues.js';

/** The routes of version 3, which 4.0 still has (sheet §4G). */
export function versionThreeRoutes(deps: DisbatchDeps): readonly DisbatchRoute[] {
  const write = (
    path: string,
    operationId: string,
    summary: string,
    handle: (call: DisbatchCall, said: Parameters) => Promise<DisbatchAnswer>,
  ): DisbatchRoute => ({
    method: 'POST',
    path,
    permission: 'task:write',
    operationId,
    summary: `${summary} (version 3)`,
    handle: (call) => handle(call, parametersIn(call.said)),
  });
  const prototypes = (method: 'GET' | 'POST'): DisbatchRoute => ({
    method,
    path: '/queue-prototypes-json',
    permission: 'task:read',
    operationId: `disbatchPlugins3${method}`,
    summary: 'Names of plugins, each under itself (version 3)',
    handle: ({ organization }) => {
      const used = queuesOf(deps, organization.id).map(({ plugin }) => plugin);
      const names = [...new Set([...used, ...deps.controller.plugins(organization.id)])].sort();
      return answer(Object.fromEntries(names.map((name) => [name, name])));
    },
  });
  return [
    {
      method: 'GET',
      path: '/scheduler-json',
      permission: 'task:read',
      operationId: 'disbatchQueues3',
      summary: 'Queues (version 3)',
      handle: ({ organization }) => answer(queuesOf(deps, organization.id).map(shownQueue)),
    },
    write('/set-queue-attr-json', 'disbatchSetQueue3', 'Set the threads of a queue', (call, said) =>
      setAttribute(deps, call, said),
    ),
    write('/start-queue-json', 'disbatchCreateQueue3', 'Create a queue', (call, said) => startQueue(deps, call, said)),
    write('/delete-queue-json', 'disbatchDeleteQueue3', 'Delete a queue', (call, said) =>
      removeQueue(deps, call, said),
    ),
    prototypes('GET'),
    prototypes('POST'),
    write('/queue-create-tasks-json', 'disbatchAddTasks3', 'Add tasks', (call, said) => createTasks(deps, call, said)),
    write(
      '/queue-create-tasks-from-query-json',
      'disbatchAddTasksFromCollection3',
      'Add a task for each document of a collection',
      (call, said) => createFromCollection(deps, call, said),
    ),
    {
      ...write('/search-tasks-json', 'disbatchSearchTasks3', 'Search tasks', (call, said) => search(deps, call, said)),
      permission: 'task:read',
    },
  ];
}

function missing(...values: (Json | undefined)[]): boolean {
  return values.some((value) => value === undefined || value === null);
}

async function setAttribute(deps: DisbatchDeps, call: DisbatchCall, said: Parameters): Promise<DisbatchAnswer> {
  const failed = (error: string, more: object = {}): Refusal => new Refusal({ success: 0, ...more, error });
  if (said.attr !== 'threads') throw failed('Invalid attr');
  if (missing(said.value)) throw failed('You must supply a value');
  if (missing(said.queueid)) throw failed('You must supply a queueid');
  const threads = countOf(said.value);
  if (threads === undefined) throw failed('threads must be a non-negative integer');
  const { found, changed } = await changeQueue(deps, call, String(said.queueid), { threads });
  if (!found) throw failed(NOTHING_MATCHED.update, updateResult(0, 0));
  return answer({ success: 1, ...updateResult(1, changed ? 1 : 0) });
}

async function startQueue(deps: DisbatchDeps, call: DisbatchCall, { type, name }: Parameters): Promise<DisbatchAnswer> {
  if (missing(type, name) || name === '') throw new Refusal([0, 'type and name required']);
  if (!hasPlugin(deps, call, String(type))) throw new Refusal([0, 'unknown type']);
  const { id, body } = await createQueue(deps, call, { name: String(name), plugin: String(type) });
  const { id: _, ...envelope } = body;
  if (id === null) throw new Refusal([0, null, { success: 0, ...envelope }]);
  return answer([1, oid(deps.settings.dialect, id), { success: 1, ...envelope }]);
}

async function removeQueue(deps: DisbatchDeps, call: DisbatchCall, { id }: Parameters): Promise<DisbatchAnswer> {
  if (missing(id)) throw new Refusal([0, 'id required']);
  const gone = await deleteQueue(deps, call, String(id));
  if (!gone) throw new Refusal([0, { success: 0, ...deleteResult(0), error: NOTHING_MATCHED.delete }]);
  return answer([1, { success: 1, ...deleteResult(1) }]);
}

/** JSON, or text of JSON, as forms send it. */
function jsonIn(value: Json | undefined): Json {
  return typeof value === 'string' ? readJson(value) : (value ?? null);
}

/** Faults that version 3 answers with 200. */
async function told(work: () => Promise<DisbatchAnswer>): Promise<DisbatchAnswer> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { body } = error;
    if (Array.isArray(body)) throw error;
    const text = isObject(body as Json) ? (body as { error?: unknown }).error : undefined;
    return answer([0, typeof text === 'string' ? text : errorText(error)]);
  }
}

async function createTasks(deps: DisbatchDeps, call: DisbatchCall, said: Parameters): Promise<DisbatchAnswer> {
  if (missing(said.queueid, said.object)) throw new Refusal([0, 'queueid and object required']);
  return told(async () => {
    const list = jsonIn(said.object);
    if (!Array.isArray(list)) throw new Refusal('object param must be a JSON array');
    const queue = findQueue(deps, call, said.queueid ?? null);
    if (queue === undefined) throw new Refusal('Queue not found');
    const ids = await addTasks(deps, call, queue, readTaskParams(list, 'object'));
    const { dialect } = deps.settings;
    const envelope = { success: 1, ...insertManyResult(dialect, ids) };
    return answer([1, ids.length, ...inserted(dialect, ids), envelope]);
  });
}

async function createFromCollection(deps: DisbatchDeps, call: DisbatchCall, said: Parameters): Promise<DisbatchAnswer> {
  if (missing(said.queueid, said.collection, said.jsonfilter, said.params)) {
    throw new Refusal([0, 'queueid, collection, jsonfilter, and params required']);
  }
  return told(async () => {
    const filter = jsonIn(said.jsonfilter);
    const params = jsonIn(said.params);
    if (!isObject(filter) || !isObject(params)) throw new Refusal('jsonfilter and params must be JSON objects');
    const queue = findQueue(deps, call, said.queueid ?? null);
    if (queue === undefined) throw new Refusal('Queue not found');
    const collection = String(said.collection);
    const ids = await addFromCollection(deps, call, queue, { collection, filter, params });
    // As the original: the error is told by the first number only.
    return ids.length === 0 ? { ...answer([0, 0]), status: 400 } : answer([1, ids.length]);
  });
}

async function search(deps: DisbatchDeps, call: DisbatchCall, said: Parameters): Promise<DisbatchAnswer> {
  return told(async () => {
    const { store, settings } = deps;
    const given = jsonIn(said.filter ?? {});
    if (!isObject(given)) throw new Refusal('JSON object required for filter');
    const { id, status, ...rest } = given;
    const filter = {
      ...rest,
      ...(isTrue(said.queue) && { queue: oidIn(said.queue) }),
      ...(isTrue(id) && { _id: oidIn(id) }),
      // Forms have nothing but text.
      ...(status !== undefined && { status: typeof status === 'string' ? Math.trunc(Number(status)) : status }),
    };
    const found = new TaskSearch(store.read, call.organization.id, readFilter(filter, TASK_FIELDS));
    if (isTrue(said.count)) return answer([1, await found.count()]);
    const limit = readCount('limit', said.limit, undefined) || undefined;
    const rows = await found.rows({ limit, skip: readCount('skip', said.skip, 0) ?? 0, sort: [] });
    const documents = await taskDocuments({ read: store.read, ...settings }, rows, {
      dates: 'whole-seconds',
      output: isTrue(said.terse) ? 'terse' : 'full',
    });
    return answer(documents);
  });
}

function oidIn(value: Json | undefined): string {
  const id = isObject(value) ? value.$oid : value;
  if (typeof id === 'string' && isId(id)) return id;
  throw new Refusal(`Bad OID passed: ${JSON.stringify(value)}`);
}
