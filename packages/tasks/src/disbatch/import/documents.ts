import type { Json } from '@muster/wire';
import { isId } from '../../ids.js';
import type { TaskNodeSettings } from '../../ports.js';
import type { QueueRow, TaskRow } from '../../repository/writes.js';
import { isActive, isEnded, STATUS } from '../../status.js';
import type { QueueSort } from '../../types.js';
import type { BalanceDocument } from '../balance/document.js';
import { plain } from '../extended.js';
import { countOf } from '../parameters.js';
import { isObject } from '../values.js';

/** Documents of a dump, read into rows (sheet §1). */

/** Why a document cannot be taken. */
export class BadDocument extends Error {}

export interface Importing {
  readonly orgId: string;
  readonly requester: string;
  readonly now: number;
  /** Most bytes of parameters. */
  readonly maxParams: number;
}

type Fields = { readonly [name: string]: Json };

function fieldsOf(document: Json): Fields {
  const fields = plain(document, 'ms');
  if (!isObject(fields)) throw new BadDocument('it is no object');
  return fields;
}

function idIn(fields: Fields, name: string): string {
  const id = fields[name];
  if (typeof id === 'string' && isId(id)) return id;
  throw new BadDocument(`${name} must be an ObjectId`);
}

function textIn(fields: Fields, name: string): string {
  const text = fields[name];
  if (typeof text === 'string' && text !== '' && text.length <= 255 && !text.includes('\0')) return text;
  throw new BadDocument(`${name} must be text of 1 to 255 characters`);
}

const SORTS: readonly Json[] = ['fifo', 'lifo', 'default'];

/**
 * A queue is paused until somebody lets it run: the system that the dump is of may still be at work. It keeps its tasks for ever, as
 * that one did: most have ended longer ago than others are kept.
 */
export function readQueue(document: Json, { orgId, now }: Importing): QueueRow {
  const fields = fieldsOf(document);
  const { threads, sort } = fields;
  const isSort = (value: Json | undefined): value is QueueSort => SORTS.includes(value ?? null);
  const most = threads === undefined || threads === null ? null : countOf(threads);
  if (most === undefined) throw new BadDocument('threads must be a non-negative integer or null');
  return {
    id: idIn(fields, '_id'),
    org_id: orgId,
    name: textIn(fields, 'name'),
    plugin: pluginIn(fields),
    threads: most,
    state: 'paused',
    rules: JSON.stringify({ keep: 0, ...(isSort(sort) && { sort }) }),
    created_at: now,
    updated_at: now,
  };
}

/** Version 3 called it `constructor`. */
function pluginIn(fields: Fields): string {
  return textIn(fields, !('plugin' in fields) && Object.hasOwn(fields, 'constructor') ? 'constructor' : 'plugin');
}

const LARGEST = 2_147_483_647;
/** Text of output that stays in the row; what is longer comes in pieces. */
const INLINE_BYTES = 65_536;

/** A node had it when the dump was made. */
const WAS_ACTIVE = 'a node had it when it was exported';

/** @throws BadDocument */
export function readTask(document: Json, { orgId, requester, now, maxParams }: Importing): TaskRow {
  const fields = fieldsOf(document);
  const { status: given } = fields;
  if (typeof given !== 'number' || !Number.isInteger(given) || Math.abs(given) > LARGEST) {
    throw new BadDocument('status must be a whole number');
  }
  const status = isActive(given) ? STATUS.orphaned : given;
  const node = fields.node === undefined || fields.node === null || fields.node === -1 ? null : textIn(fields, 'node');
  const ctime = timeIn(fields, 'ctime', now);
  const mtime = timeIn(fields, 'mtime', ctime);
  const ended = isEnded(status);
  return {
    id: idIn(fields, '_id'),
    org_id: orgId,
    queue_id: idIn(fields, 'queue'),
    params: paramsIn(document, maxParams),
    options: null,
    lane: '',
    requester,
    ctime,
    mtime,
    status,
    node,
    incarnation: null,
    attempt: node === null ? 0 : 1,
    failures: 0,
    orphanings: 0,
    rank: 0,
    not_before: null,
    expires_at: null,
    waits_for: 0,
    cancelling: 0,
    reason: status === given ? null : WAS_ACTIVE,
    started_at: null,
    ended_at: ended ? mtime : null,
    exit_code: typeof fields.cmdExit === 'number' && Number.isInteger(fields.cmdExit) ? fields.cmdExit : null,
    signal: null,
    stdout: outputIn(fields, 'stdout'),
    stderr: outputIn(fields, 'stderr'),
    stdout_bytes: null,
    stderr_bytes: null,
    complete: ended ? (fields.complete === false ? 0 : 1) : null,
  };
}

/** Milliseconds; very old tasks have seconds. */
function timeIn(fields: Fields, name: string, absent: number): number {
  const time = fields[name];
  if (time === undefined || time === null) return absent;
  if (typeof time !== 'number' || !Number.isFinite(time) || time < 0) throw new BadDocument(`${name} must be a date`);
  return Math.round(time < 1e11 ? time * 1000 : time);
}

/** Version 3 called them `parameters`. */
function paramsIn(document: Json, maxParams: number): string {
  const { params, parameters } = isObject(document) ? document : {};
  const given = plain(params ?? parameters ?? null, 'text');
  if (!isObject(given)) throw new BadDocument('params must be an object');
  const text = JSON.stringify(given);
  if (Buffer.byteLength(text) > maxParams) {
    throw new BadDocument(`params have more than ${maxParams} bytes (setting tasks.max_params)`);
  }
  if (text.includes('\\u0000')) throw new BadDocument('params must not contain NUL');
  return text;
}

/** Text as it is; what an id stands for comes in pieces. */
function outputIn(fields: Fields, name: 'stdout' | 'stderr'): string | null {
  const output = fields[name];
  if (output === undefined || output === null || (typeof output === 'string' && isId(output))) return null;
  if (typeof output !== 'string') throw new BadDocument(`${name} must be text, an ObjectId or null`);
  if (Buffer.byteLength(output) > INLINE_BYTES) throw new BadDocument(`${name} is too long: send it in pieces`);
  return output;
}

export interface FileDocument {
  readonly id: string;
  readonly taskId: string;
  readonly stream: 'stdout' | 'stderr';
}

export function readFile(document: Json): FileDocument {
  const fields = fieldsOf(document);
  const { filename, metadata } = fields;
  if (filename !== 'stdout' && filename !== 'stderr') throw new BadDocument('filename must be stdout or stderr');
  if (!isObject(metadata)) throw new BadDocument('metadata.task_id must be an ObjectId');
  return { id: textIn(fields, '_id'), taskId: idIn(metadata, 'task_id'), stream: filename };
}

/** Part of a chunk of a file: chunks may be longer than what is sent at once. */
export interface Piece {
  readonly fileId: string;
  readonly n: number;
  readonly part: number;
  readonly parts: number;
  readonly data: Buffer;
}

/** Most parts of one chunk. */
export const PARTS = 16;

export function readPiece(document: Json): Piece {
  const fields = fieldsOf(document);
  const { n, part = 0, parts = 1, data } = fields;
  const isCount = (value: Json): value is number =>
    typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
  if (!isCount(n ?? null) || !isCount(part) || !isCount(parts) || part >= parts || parts > PARTS) {
    throw new BadDocument('n, part and parts must be counts');
  }
  if (typeof data !== 'string') throw new BadDocument('data must be base64');
  return { fileId: textIn(fields, 'files_id'), n: n as number, part, parts, data: Buffer.from(data, 'base64') };
}

export function readNode(document: Json): { readonly node: string } & Required<TaskNodeSettings> {
  const fields = fieldsOf(document);
  const { maxthreads } = fields;
  const most = maxthreads === undefined || maxthreads === null ? null : countOf(maxthreads);
  if (most === undefined) throw new BadDocument('maxthreads must be a non-negative integer or null');
  return { node: textIn(fields, 'node'), id: idIn(fields, '_id'), maxthreads: most };
}

export function readBalance(document: Json): BalanceDocument {
  const { max_tasks, queues, disabled } = fieldsOf(document);
  if (!isObject(max_tasks) || !Array.isArray(queues)) throw new BadDocument('max_tasks and queues are needed');
  return {
    max_tasks: max_tasks as Record<string, number>,
    queues: queues as unknown as string[][],
    disabled: typeof disabled === 'number' && disabled > 0 ? disabled : null,
  };
}
