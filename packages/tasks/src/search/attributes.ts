import type { Attributes } from '@muster/selector';
import type { ListedTask } from '../repository/reads.js';
import { statusName } from '../status.js';

type Scalar = string | number | boolean | null;

/** What a search needs of a queue. */
export interface SearchedQueue {
  readonly id: string;
  readonly name: string;
  readonly plugin: string;
}

/** A task as a search sees it. */
export interface SearchedTask {
  readonly row: ListedTask;
  /** Undefined: it is gone, and left its tasks. */
  readonly queue: SearchedQueue | undefined;
}

/** What tasks are searched by. Times are milliseconds since the epoch. */
const ATTRIBUTES: Readonly<Record<string, (task: SearchedTask) => Scalar>> = {
  id: ({ row }) => row.id,
  queue: ({ queue }) => queue?.name ?? null,
  queue_id: ({ row }) => row.queue_id,
  plugin: ({ queue }) => queue?.plugin ?? null,
  status: ({ row }) => statusName(row.status),
  code: ({ row }) => row.status,
  node: ({ row }) => row.node,
  attempt: ({ row }) => row.attempt,
  failures: ({ row }) => row.failures,
  priority: ({ row }) => priorityOf(row),
  requester: ({ row }) => row.requester,
  key: ({ row }) => (row.lane === '' ? null : row.lane),
  reason: ({ row }) => row.reason,
  exit_code: ({ row }) => row.exit_code,
  ctime: ({ row }) => row.ctime,
  mtime: ({ row }) => row.mtime,
  started: ({ row }) => row.started_at,
  ended: ({ row }) => row.ended_at,
  not_before: ({ row }) => row.not_before,
};

export const ATTRIBUTE_NAMES: readonly string[] = Object.keys(ATTRIBUTES);

const PARAMS = 'params.';

export function isTaskAttribute(name: string): boolean {
  return Object.hasOwn(ATTRIBUTES, name) || (name.startsWith(PARAMS) && name.length > PARAMS.length);
}

/** Greater ones come first; the least rank does, with which the index is sorted. */
export function priorityOf({ rank }: Pick<ListedTask, 'rank'>): number {
  return rank === 0 ? 0 : -rank;
}

/** Reads these attributes, and no other, of a task. */
export function attributeReader(names: Iterable<string>): (task: SearchedTask) => Attributes {
  const own: (readonly [string, (task: SearchedTask) => Scalar])[] = [];
  const ofParams: (readonly [string, readonly string[]])[] = [];
  for (const name of names) {
    const read = Object.hasOwn(ATTRIBUTES, name) ? ATTRIBUTES[name] : undefined;
    if (read !== undefined) own.push([name, read]);
    else ofParams.push([name, name.slice(PARAMS.length).split('.')]);
  }
  return (task) => {
    const params: unknown = ofParams.length === 0 ? null : JSON.parse(task.row.params);
    return Object.fromEntries([
      ...own.map(([name, read]) => [name, read(task)]),
      ...ofParams.map(([name, path]) => [name, parameter(params, path)]),
    ]);
  };
}

/** `params.a.b`: the parameter `a.b`, or `b` within `a`. What is neither text, number nor boolean is not searched. */
function parameter(params: unknown, path: readonly string[]): Scalar {
  for (let taken = path.length; taken > 0; taken--) {
    const value = own(params, path.slice(0, taken).join('.'));
    if (value === undefined) continue;
    const found = taken === path.length ? scalar(value) : parameter(value, path.slice(taken));
    if (found !== null) return found;
  }
  return null;
}

function own(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return Reflect.get(value, name);
}

function scalar(value: unknown): Scalar {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null;
}
