import { randomBytes } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';
import { MusterError } from '@muster/base';
import type { AssignedTask, Json } from '@muster/wire';
import { TASK_BYTES } from './limits.js';

export interface GivenTask {
  /** A file, `-` for standard input, or JSON itself. */
  readonly from: string;
  readonly plugin: string;
  readonly queue: string;
  readonly timeoutSeconds: number | null;
}

/** The task that a person gave: a whole document, known by its `params`, or the parameters alone. */
export async function givenTask(given: GivenTask, stdin: NodeJS.ReadableStream, now: number): Promise<AssignedTask> {
  const document = parse(await read(given.from, stdin), given.from);
  const whole = isObject(document.params);
  const about = whole ? document : {};
  return {
    id: idOf(about._id ?? about.id),
    attempt: 1,
    queue: { id: idOf(about.queue), name: given.queue },
    plugin: given.plugin,
    params: (whole ? document.params : document) as { readonly [name: string]: Json },
    ctime: timeOf(about.ctime, now),
    mtime: timeOf(about.mtime, now),
    timeoutSeconds: given.timeoutSeconds,
    outputLimit: Number.MAX_SAFE_INTEGER,
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

function idOf(given: unknown): string {
  return typeof given === 'string' && ID.test(given) ? given : randomBytes(12).toString('hex');
}

function timeOf(given: unknown, now: number): number {
  const time = typeof given === 'string' ? Date.parse(given) : Number.NaN;
  return Number.isNaN(time) ? now : time;
}
