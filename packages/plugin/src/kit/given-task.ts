import { readFile, stat } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';
import { MusterError } from '@muster/base';
import { TASK_BYTES } from './limits.js';
import type { TriedTask } from './trial.js';

type Params = TriedTask['params'];

/**
 * The task that a person gave, in a file, on standard input (`-`) or as JSON itself: a whole document, known by its
 * `params`, or the parameters alone.
 */
export async function givenTask(from: string, stdin: NodeJS.ReadableStream): Promise<TriedTask> {
  const document = parse(await read(from, stdin), from);
  const { params } = document;
  if (!isObject(params)) return { params: document as Params };
  const [id, queueId] = [document._id ?? document.id, document.queue];
  const [ctime, mtime] = [timeOf(document.ctime), timeOf(document.mtime)];
  return {
    params: params as Params,
    ...(isId(id) && { id }),
    ...(isId(queueId) && { queueId }),
    ...(ctime !== null && { ctime }),
    ...(mtime !== null && { mtime }),
  };
}

async function read(from: string, stdin: NodeJS.ReadableStream): Promise<string> {
  if (from.trimStart().startsWith('{')) return from;
  if (from === '-') return textOf(stdin);
  try {
    if ((await stat(from)).size > TASK_BYTES) throw new Error(`it is larger than ${TASK_BYTES} bytes`);
    return await readFile(from, 'utf8');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new MusterError('usage', { reason: `cannot read the task ${from}: ${why}` });
  }
}

function parse(text: string, from: string): { readonly [name: string]: unknown } {
  const where = from.trimStart().startsWith('{') ? 'the task' : `the task ${from}`;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new MusterError('usage', { reason: `${where} is no JSON: ${why}` });
  }
  if (isObject(value)) return value;
  throw new MusterError('usage', { reason: `${where} is no JSON object, such as {"params": {"file": "a.png"}}` });
}

function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const ID = /^[0-9a-f]{24}$/;

function isId(given: unknown): given is string {
  return typeof given === 'string' && ID.test(given);
}

function timeOf(given: unknown): number | null {
  const time = typeof given === 'string' ? Date.parse(given) : Number.NaN;
  return Number.isNaN(time) ? null : time;
}
