import { findTask } from '../../repository/reads.js';
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
import { isTrue, type Parameters, parametersIn, splitOptions } from '../parameters.js';
import { Refusal } from '../refusal.js';
import { TaskSearch } from '../search.js';
import { readCount, readProjection } from '../search-options.js';
import { type TaskForm, taskDocuments } from '../task-document.js';
import { isObject } from '../values.js';
import { addFromCollection, addTasks, insertedAnswer, readTaskParams } from './add-tasks.js';
import { checkIndexed, fieldsOf, filterOf, indexesWith, isEmpty, querySchema, refuseEverything } from './indexed.js';

const LIST_OPTIONS = ['.count', '.fields', '.limit', '.skip', '.terse', '.full', '.epoch', '.pretty'];
const TASK_OPTIONS = ['.full', '.terse', '.epoch', '.pretty'];

/** The task routes of 4.2 and 4.4 (sheet §4D). */
export function taskRoutes(deps: DisbatchDeps): readonly DisbatchRoute[] {
  const list = (path: string, operationId: string, summary: string): DisbatchRoute => ({
    method: 'GET',
    path,
    permission: 'task:read',
    operationId,
    summary,
    handle: (call) => listTasks(deps, call, path),
  });
  return [
    list('/tasks', 'disbatchListTasks', 'Search tasks by indexed fields (4.2, 4.4)'),
    list('/tasks.json', 'disbatchListTasksJson', 'The same, as the first command line of 4.2 asks for it'),
    {
      method: 'GET',
      path: '/tasks/:id',
      permission: 'task:read',
      operationId: 'disbatchGetTask',
      summary: 'One task (4.2, 4.4)',
      handle: (call) => oneTask(deps, call),
    },
    {
      method: 'POST',
      path: '/tasks',
      permission: 'task:write',
      operationId: 'disbatchCreateTasks',
      summary: 'Add tasks, given or made of the documents of a collection (4.2, 4.4)',
      handle: (call) => createTasks(deps, call),
    },
  ];
}

/** @throws Refusal for an option that there is not. */
function optionsIn(options: Parameters, known: readonly string[]): Parameters {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Refusal({ error: 'Invalid option', option: unknown });
  return options;
}

function formOf(options: Parameters): TaskForm {
  return {
    dates: isTrue(options['.epoch']) ? 'seconds' : 'text',
    output: isTrue(options['.terse']) ? 'terse' : isTrue(options['.full']) ? 'full' : 'plain',
    fields: readProjection('.fields', fieldsOf(options['.fields'])),
  };
}

async function listTasks({ store, settings }: DisbatchDeps, call: DisbatchCall, path: string): Promise<DisbatchAnswer> {
  const { params, options: said } = splitOptions(parametersIn(call.said));
  const indexes = indexesWith(settings.indexes);
  if (Object.keys(params).length === 0 && Object.keys(said).length === 0) return answer(querySchema(indexes), true);
  const options = optionsIn(said, LIST_OPTIONS);
  const given = Object.fromEntries(Object.entries(params).filter(([, value]) => !isEmpty(value)));
  checkIndexed(Object.keys(given), indexes, path);
  const limit = readCount('.limit', options['.limit'], undefined) || undefined;
  const skip = readCount('.skip', options['.skip'], 0) ?? 0;
  const count = isTrue(options['.count']);
  if (Object.keys(given).length === 0 && limit === undefined) throw refuseEverything(indexes, path);
  const found = new TaskSearch(store.read, call.organization.id, readFilter(filterOf(given), TASK_FIELDS));
  if (count) return answer({ count: await found.count() });
  const rows = await found.rows({ limit, skip, sort: [] });
  const documents = await taskDocuments({ read: store.read, ...settings }, rows, formOf(options));
  const pretty = isTrue(options['.pretty']);
  // What clients of 4.4 rely on: an object when there is none, and the task itself when one was asked for.
  if (documents.length === 0) return answer({}, pretty);
  return answer(limit === 1 ? documents[0] : documents, pretty);
}

async function oneTask({ store, settings }: DisbatchDeps, call: DisbatchCall): Promise<DisbatchAnswer> {
  const { options: said } = splitOptions(parametersIn(call.said));
  const options = optionsIn(said, TASK_OPTIONS);
  const id = call.named.id ?? '';
  const row = await findTask(store.read, call.organization.id, id);
  if (row === undefined) throw new Refusal(`no task with id ${id}`, 404);
  const [document] = await taskDocuments({ read: store.read, ...settings }, [row], formOf(options));
  const pretty = options['.pretty'];
  return answer(document, pretty === undefined || pretty === null || isTrue(pretty));
}

async function createTasks(deps: DisbatchDeps, call: DisbatchCall): Promise<DisbatchAnswer> {
  const said = parametersIn(call.said);
  const names = Object.keys(said).sort().join(' ');
  const fromCollection = names === 'collection filter params queue';
  if (!fromCollection && names !== 'params queue') throw new Refusal('invalid parameters passed');
  const { params, collection, filter } = said;
  const queue = findQueue(deps, call, said.queue ?? null);
  if (queue === undefined) throw new Refusal('queue not found');
  if (!fromCollection) {
    const list = readTaskParams(isObject(params) ? [params] : (params ?? null), "'params'");
    return insertedAnswer(deps, await addTasks(deps, call, queue, list));
  }
  if (!isObject(params)) throw new Refusal("'params' must be a JSON array of task params objects");
  if (!isObject(filter)) throw new Refusal("'filter' must be a JSON object");
  if (typeof collection !== 'string' || collection === '') {
    // The quote at the end is the original's.
    throw new Refusal("'collection' required and must be a scalar (string)'");
  }
  return insertedAnswer(deps, await addFromCollection(deps, call, queue, { collection, filter, params }));
}
