import type { Json } from '@muster/wire';
import { MusterError } from '../../errors.js';
import type { QueueChanges, QueueView } from '../../ports.js';
import type { QueueSort } from '../../types.js';
import { type Dialect, oid } from '../dialect.js';
import { deleteResult, duplicateKeyError, insertOneResult, NOTHING_MATCHED, updateResult } from '../envelopes.js';
import {
  answer,
  byWhom,
  type DisbatchCall,
  type DisbatchDeps,
  type DisbatchRoute,
  findQueue,
  queuesOf,
} from '../interface.js';
import { countOf, type Parameters, parametersIn } from '../parameters.js';
import { Refusal } from '../refusal.js';

/** Queues, and the names of plugins (sheet §4B). */
export function queueRoutes(deps: DisbatchDeps): readonly DisbatchRoute[] {
  const { controller } = deps;
  return [
    {
      method: 'GET',
      path: '/plugins',
      permission: 'task:read',
      operationId: 'disbatchListPlugins',
      summary: 'Names of plugins that queues may have',
      handle: ({ organization }) => answer(controller.plugins(organization.id)),
    },
    {
      method: 'GET',
      path: '/queues',
      permission: 'task:read',
      operationId: 'disbatchListQueues',
      summary: 'Queues with their counts, in the order in which they were made',
      handle: ({ organization }) => answer(queuesOf(deps, organization.id).map(shownQueue)),
    },
    {
      method: 'GET',
      path: '/queues/:queue',
      permission: 'queue:read',
      operationId: 'disbatchGetQueue',
      summary: 'One queue, by id or name',
      handle: (call) => {
        const queue = findQueue(deps, call, call.named.queue ?? '');
        if (queue === undefined) throw new Refusal('Could not get current queues: there is no such queue');
        return answer(shownQueue(queue));
      },
    },
    {
      method: 'POST',
      path: '/queues',
      permission: 'task:write',
      operationId: 'disbatchCreateQueue',
      summary: 'Create a queue; it is paused until its threads are set',
      handle: async (call) => {
        const created = await createQueue(deps, call, readNewQueue(deps, call));
        if (created.id === null) return { status: 400, pretty: false, body: created.body };
        return answer(created.body);
      },
    },
    {
      method: 'POST',
      path: '/queues/:queue',
      permission: 'queue:write',
      operationId: 'disbatchUpdateQueue',
      summary: 'Change a queue; setting its threads lets it run',
      handle: async (call) => {
        const { changed, found } = await changeQueue(deps, call, call.named.queue ?? '', readQueueChanges(deps, call));
        if (!found) throw new Refusal({ ...updateResult(0, 0), error: NOTHING_MATCHED.update });
        return answer(updateResult(1, changed ? 1 : 0));
      },
    },
    {
      method: 'DELETE',
      path: '/queues/:queue',
      permission: 'task:write',
      operationId: 'disbatchDeleteQueue',
      summary: 'Delete a queue; its tasks are kept',
      handle: async (call) => {
        if (!(await deleteQueue(deps, call, call.named.queue ?? ''))) {
          throw new Refusal({ ...deleteResult(0), error: NOTHING_MATCHED.delete });
        }
        return answer(deleteResult(1));
      },
    },
  ];
}

/** What waits does not include what is orphaned, cancelled or held (sheet §10, 5). */
export function shownQueue({ id, plugin, name, threads, counts }: QueueView) {
  return {
    id,
    plugin,
    name,
    threads,
    queued: counts.queued + counts.blocked,
    running: counts.claimed + counts.running,
    completed: counts.succeeded + counts.failed,
  };
}

export interface QueueWords {
  readonly name?: string;
  readonly plugin?: string;
  readonly threads?: number | null;
  readonly sort?: QueueSort;
}

type NamedQueue = QueueWords & Required<Pick<QueueWords, 'name' | 'plugin'>>;

const CREATE: Readonly<Record<Dialect, readonly string[]>> = {
  '4.0': ['name', 'plugin'],
  '4.4': ['name', 'plugin', 'threads', 'sort'],
};
const UPDATE: Readonly<Record<Dialect, readonly string[]>> = {
  '4.0': ['name', 'plugin', 'threads'],
  '4.4': ['name', 'plugin', 'threads', 'sort'],
};

/** @throws Refusal in the order and with the texts of the original. */
function readNewQueue(deps: DisbatchDeps, call: DisbatchCall): NamedQueue {
  const said = parametersIn(call.said);
  const name = textOf(said.name);
  const plugin = textOf(said.plugin);
  if (name === undefined || name === '' || plugin === undefined || plugin === '') {
    throw new Refusal('name and plugin required');
  }
  const { dialect } = deps.settings;
  const unknown = Object.keys(said).find((one) => !CREATE[dialect].includes(one));
  if (unknown !== undefined) throw new Refusal({ error: 'Invalid param', param: unknown });
  if (!hasPlugin(deps, call, plugin)) throw new Refusal({ error: 'Unknown plugin', plugin });
  return { name, plugin, ...readThreads(said, 'or null'), ...readSort(said) };
}

/** @throws Refusal in the order and with the texts of the original. */
function readQueueChanges(deps: DisbatchDeps, call: DisbatchCall): QueueWords {
  const said = parametersIn(call.said);
  const names = Object.keys(said);
  if (names.length === 0) throw new Refusal('no params');
  const { dialect } = deps.settings;
  const unknown = names.find((one) => !UPDATE[dialect].includes(one));
  if (unknown !== undefined) throw new Refusal({ error: 'unknown param', param: unknown });
  const plugin = textOf(said.plugin);
  if ('plugin' in said && (plugin === undefined || !hasPlugin(deps, call, plugin))) {
    throw new Refusal({ error: 'unknown plugin', plugin: said.plugin ?? null });
  }
  const threads = readThreads(said, dialect === '4.0' ? 'only' : 'or null');
  const name = textOf(said.name);
  if ('name' in said && (name === undefined || name === '')) throw new Refusal('name must be a string');
  return {
    ...threads,
    ...readSort(said),
    ...(plugin === undefined ? {} : { plugin }),
    ...(name === undefined ? {} : { name }),
  };
}

function readThreads(said: Parameters, nothing: 'only' | 'or null'): Pick<QueueWords, 'threads'> {
  if (!('threads' in said)) return {};
  if (said.threads === null && nothing === 'or null') return { threads: null };
  const threads = countOf(said.threads);
  if (threads !== undefined) return { threads };
  throw new Refusal(`threads must be a non-negative integer${nothing === 'or null' ? ' or null' : ''}`);
}

const SORTS: readonly QueueSort[] = ['fifo', 'lifo', 'default'];

function readSort({ sort }: Parameters): Pick<QueueWords, 'sort'> {
  if (sort === undefined) return {};
  const known = SORTS.find((one) => one === sort);
  if (known === undefined) throw new Refusal('sort must be "fifo", "lifo", or "default"');
  return { sort: known };
}

/** Numbers are names, too: forms have nothing but text. */
function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'number' ? String(value) : typeof value === 'string' ? value : undefined;
}

export function hasPlugin({ controller }: DisbatchDeps, { organization }: DisbatchCall, plugin: string): boolean {
  return controller.plugins(organization.id).includes(plugin);
}

/** A queue without `threads` is paused, so that nothing runs until they are set (T3). */
export async function createQueue(
  deps: DisbatchDeps,
  call: DisbatchCall,
  { name, plugin, threads = null, sort }: NamedQueue,
): Promise<{ readonly id: string | null; readonly body: Record<string, unknown> }> {
  const queue = {
    name,
    plugin,
    threads,
    state: threads === null ? ('paused' as const) : ('open' as const),
    rules: sort === undefined ? {} : { sort },
  };
  try {
    const by = byWhom(deps, call, { action: 'queue.create', target: name, detail: { plugin, threads } });
    const { id } = await deps.controller.createQueue(call.organization, queue, by);
    const { dialect } = deps.settings;
    return { id, body: { ...insertOneResult(dialect, id), id: oid(dialect, id) } };
  } catch (error) {
    if (!(error instanceof MusterError && error.code === 'queue_exists')) throw error;
    return { id: null, body: { ...duplicateKeyError(name), id: null } };
  }
}

export async function changeQueue(
  deps: DisbatchDeps,
  call: DisbatchCall,
  idOrName: string,
  { threads, sort, ...words }: QueueWords,
): Promise<{ readonly found: boolean; readonly changed: boolean }> {
  const queue = findQueue(deps, call, idOrName);
  if (queue === undefined) return { found: false, changed: false };
  const changes: QueueChanges = {
    ...words,
    ...(threads === undefined ? {} : { threads, ...stateFor(queue, threads) }),
    ...(sort === undefined ? {} : { rules: { sort } }),
  };
  const detail = {
    ...words,
    ...(threads === undefined ? {} : { threads }),
    ...(sort === undefined ? {} : { sort }),
  };
  const by = byWhom(deps, call, { action: 'queue.change', target: queue.name, detail });
  const { changed } = await deps.controller.changeQueue(call.organization, queue.id, changes, by);
  return { found: true, changed };
}

/** To clients null is as good as 0, and a number means that it runs (T3). */
function stateFor({ state }: QueueView, threads: number | null): Pick<QueueChanges, 'state'> {
  if (threads === null) return state === 'open' ? { state: 'paused' } : {};
  return state === 'paused' ? { state: 'open' } : {};
}

/** False: there is no such queue. @throws MusterError `queue_busy` while nodes have tasks of it. */
export async function deleteQueue(deps: DisbatchDeps, call: DisbatchCall, idOrName: string): Promise<boolean> {
  const queue = findQueue(deps, call, idOrName);
  if (queue === undefined) return false;
  const by = byWhom(deps, call, { action: 'queue.delete', target: queue.name });
  await deps.controller.removeQueue(call.organization, queue.id, { force: false, keepTasks: true }, by);
  return true;
}
