import type { Json } from '@muster/wire';
import { isId } from '../../ids.js';
import { readFilter } from '../filter/read.js';
import { TASK_FIELDS } from '../filter/values.js';
import {
  answer,
  type DisbatchAnswer,
  type DisbatchCall,
  type DisbatchDeps,
  type DisbatchRoute,
  findQueue,
} from '../interface.js';
import { DISBATCH_LIMITS } from '../limits.js';
import { isTrue, parametersIn } from '../parameters.js';
import { Refusal } from '../refusal.js';
import { TaskSearch } from '../search.js';
import { readCount, readProjection, readSort } from '../search-options.js';
import { taskDocuments } from '../task-document.js';
import { isObject } from '../values.js';
import { addFromCollection, addTasks, insertedAnswer, readTaskParams } from './add-tasks.js';

/** The task routes of 4.0 (sheet §4C). */
export function oldTaskRoutes(deps: DisbatchDeps): readonly DisbatchRoute[] {
  return [
    {
      method: 'POST',
      path: '/tasks/search',
      permission: 'task:read',
      operationId: 'disbatchSearchTasks',
      summary: 'Search tasks by a filter (4.0)',
      handle: (call) => search(deps, call),
    },
    {
      method: 'POST',
      path: '/tasks/:queue',
      permission: 'queue:write',
      operationId: 'disbatchAddTasks',
      summary: 'Add tasks to a queue (4.0)',
      handle: async (call) => {
        const params = readTaskParams(call.said, 'params');
        const queue = findQueue(deps, call, call.named.queue ?? '');
        if (queue === undefined) throw new Refusal('queue not found');
        return insertedAnswer(deps, await addTasks(deps, call, queue, params));
      },
    },
    {
      method: 'POST',
      path: '/tasks/:queue/:collection',
      permission: 'queue:write',
      operationId: 'disbatchAddTasksFromCollection',
      summary: 'Add a task for each document of a collection that a filter finds (4.0)',
      handle: async (call) => {
        const { filter, params } = isObject(call.said) ? call.said : {};
        if (!isObject(filter) || !isObject(params)) {
          throw new Refusal('filter and params required and must be name/value objects');
        }
        const queue = findQueue(deps, call, call.named.queue ?? '');
        if (queue === undefined) throw new Refusal('queue not found');
        const collection = call.named.collection ?? '';
        return insertedAnswer(deps, await addFromCollection(deps, call, queue, { collection, filter, params }));
      },
    },
  ];
}

async function search({ store, settings }: DisbatchDeps, call: DisbatchCall): Promise<DisbatchAnswer> {
  const said = parametersIn(call.said);
  const filter = said.filter ?? {};
  const options = said.options ?? {};
  if (!isObject(filter) || !isObject(options)) throw new Refusal('filter and options must be name/value objects');
  checkQueue(filter.queue);
  const limit = readCount('limit', options.limit, undefined) || DISBATCH_LIMITS.searchLimit;
  if (limit > DISBATCH_LIMITS.searchLimit) throw new Refusal(`limit cannot exceed ${DISBATCH_LIMITS.searchLimit}`);
  const found = new TaskSearch(store.read, call.organization.id, readFilter(filter, TASK_FIELDS));
  if (isTrue(said.count)) return answer({ count: await found.count() });
  const rows = await found.rows({
    limit,
    skip: readCount('skip', options.skip, 0) ?? 0,
    sort: readSort(options.sort),
  });
  const documents = await taskDocuments({ read: store.read, ...settings }, rows, {
    dates: 'seconds',
    output: said.terse === undefined || said.terse === null || isTrue(said.terse) ? 'terse' : 'full',
    fields: readProjection('projection', options.projection ?? options.fields),
  });
  return answer(documents, isTrue(said.pretty));
}

/** A name is not accepted in the place of an id. */
function checkQueue(queue: Json | undefined): void {
  if (typeof queue === 'string' && !isId(queue)) {
    throw new Refusal(`Bad OID passed: ${JSON.stringify(queue.slice(0, DISBATCH_LIMITS.echoed))}`);
  }
}
