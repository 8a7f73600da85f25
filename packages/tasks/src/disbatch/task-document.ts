import { cmdErrOf, cmdExitOf, type Json } from '@muster/wire';
import type { TaskRow } from '../repository/writes.js';
import type { Params } from '../types.js';
import { type DateForm, dateIn, oid } from './dialect.js';
import type { Document } from './filter/condition.js';
import {
  importedFiles,
  OutputBudget,
  type OutputDeps,
  type OutputWish,
  type SharedOutput,
  shownOutput,
} from './output.js';

/** A task as filters see it: ids as text, times in milliseconds, and of output what is in the row. */
export function matchedDocument(row: TaskRow): Document {
  return {
    _id: row.id,
    queue: row.queue_id,
    params: JSON.parse(row.params) as Json,
    status: row.status,
    node: row.node,
    ctime: row.ctime,
    mtime: row.mtime,
    stdout: row.stdout,
    stderr: row.stderr,
    ...(row.complete === null ? {} : { complete: row.complete === 1 }),
  };
}

export interface TaskForm {
  readonly dates: DateForm;
  readonly output: OutputWish;
  /** The fields that are shown; undefined: all. */
  readonly fields?: Projection | undefined;
}

/** Which fields are shown, by their names with dots. */
export interface Projection {
  readonly kind: 'only' | 'without';
  readonly names: readonly string[];
  readonly id: boolean;
}

const STREAMS = ['stdout', 'stderr'] as const;

/** Tasks as the command interface shows them. */
export async function taskDocuments(
  deps: OutputDeps,
  rows: readonly TaskRow[],
  form: TaskForm,
): Promise<readonly Record<string, unknown>[]> {
  const { output: wish, fields } = form;
  const showsIds = wish !== 'full' && STREAMS.some((stream) => shows(fields, stream));
  const output = { budget: new OutputBudget(), files: await importedFiles(deps.read, showsIds ? rows : []) };
  const documents: Record<string, unknown>[] = [];
  for (const row of rows) documents.push(await taskDocument(deps, row, form, output));
  return documents;
}

async function taskDocument(
  deps: OutputDeps,
  row: TaskRow,
  { dates, output, fields }: TaskForm,
  shared: SharedOutput,
): Promise<Record<string, unknown>> {
  const document: Record<string, unknown> = {
    _id: oid(deps.dialect, row.id),
    queue: oid(deps.dialect, row.queue_id),
    params: JSON.parse(row.params) as Params,
    status: row.status,
    node: row.node,
    ctime: dateIn(dates, row.ctime),
    mtime: dateIn(dates, row.mtime),
    ...(dates === 'whole-seconds' && {
      ctime_str: dateIn('text', row.ctime),
      mtime_str: dateIn('text', row.mtime),
    }),
  };
  // What is not shown is not read.
  for (const stream of STREAMS) {
    if (shows(fields, stream)) document[stream] = await shownOutput(deps, row, stream, output, shared);
  }
  if (row.complete !== null) document.complete = row.complete === 1;
  const exit = cmdExitOf(row.exit_code, row.signal);
  if (deps.dialect === '4.4' && exit !== null) {
    document.cmdExit = exit;
    document.cmdErr = cmdErrOf(row.exit_code, row.signal);
  }
  return fields === undefined ? document : projected(document, fields);
}

function shows(fields: Projection | undefined, name: string): boolean {
  if (fields === undefined) return true;
  return fields.names.includes(name) === (fields.kind === 'only');
}

function projected(document: Record<string, unknown>, { kind, names, id }: Projection): Record<string, unknown> {
  const { _id, ...rest } = document;
  const shown: Record<string, unknown> = kind === 'only' ? only(rest, names) : without(rest, names);
  return id ? { _id, ...shown } : shown;
}

function only(document: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const name of names) {
    const [head = '', ...rest] = name.split('.');
    if (!Object.hasOwn(document, head)) continue;
    const value = document[head];
    if (rest.length === 0) shown[head] = value;
    else if (isObject(value)) {
      const before = shown[head];
      shown[head] = { ...(isObject(before) ? before : {}), ...only(value, [rest.join('.')]) };
    }
  }
  return shown;
}

function without(document: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  const shown = { ...document };
  for (const name of names) {
    const [head = '', ...rest] = name.split('.');
    const value = shown[head];
    if (rest.length === 0) delete shown[head];
    else if (isObject(value)) shown[head] = without(value, [rest.join('.')]);
  }
  return shown;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
