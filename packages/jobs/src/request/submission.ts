import { memoryMb, runSeconds } from '../definition/quantities.js';
import { checkText, isFields, Reader } from '../definition/reader.js';
import { MusterError } from '../errors.js';
import type { Subscription } from '../types.js';
import { unknownMacros } from './macros.js';
import { echo, refused } from './refusal.js';
import { readSubscriptions } from './subscriptions.js';

/** What somebody wants to be run, as far as it can be understood without the app. null: not said. */
export interface Submission {
  readonly name: string;
  readonly appId: string;
  readonly executionSystem: string | null;
  readonly archive: boolean;
  readonly archiveOnAppError: boolean;
  /** Empty: the usual one. */
  readonly archivePath: string;
  readonly archiveSystem: string | null;
  readonly batchQueue: string | null;
  readonly nodeCount: number | null;
  /** On each node. */
  readonly processors: number | null;
  /** On all nodes together: how old clients say it. */
  readonly allProcessors: number | null;
  readonly memoryMb: number | null;
  readonly maxSeconds: number | null;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly subscriptions: readonly Subscription[];
}

const MOST_NODES = 100_000;
const MOST_PROCESSORS = 100_000;
const APP_ID = /^[^\s/]+-[^\s/-]+$/;

/**
 * Reads a submission (sheet §1.2): every field by its type and length, and none that has no meaning. Templates of clients
 * have `executionSystem`, `parameter` and empty fields: null is as good as left out.
 * @throws MusterError `job_invalid`
 */
export function readSubmission(body: unknown): Submission {
  if (!isFields(body)) throw refused('ALOE_JSON_VALIDATION_ERROR', 'body', 'must be a JSON object');
  try {
    return read(body, new Reader(body, ''));
  } catch (error) {
    throw inWordsOfAloe(error);
  }
}

function read(body: Readonly<Record<string, unknown>>, reader: Reader): Submission {
  const name = required(reader, 'name', 64);
  if (name.trim() === '') throw refused('ALOE_INVALID_PARAMETER', 'name', 'must not be empty');
  const appId = required(reader, 'appId', 80);
  if (!APP_ID.test(appId)) {
    throw refused('JOBS_INVALID_APPID', 'appId', `'${echo(appId)}' is not NAME-VERSION, such as example-1.0`);
  }
  const archive = reader.boolean('archive', true);
  const memory = reader.value('memoryPerNode');
  if (typeof memory === 'string') checkText('memoryPerNode', memory, { most: 32 });
  const time = reader.value('maxRunTime');
  if (time !== undefined) checkText('maxRunTime', time, { most: 20 });
  const submission: Submission = {
    name,
    appId,
    executionSystem: optional(reader, 'executionSystem', 64),
    archive,
    archiveOnAppError: reader.boolean('archiveOnAppError', false),
    archivePath: readArchivePath(body, reader, archive),
    archiveSystem: optional(reader, 'archiveSystem', 64),
    batchQueue: optional(reader, 'batchQueue', 255),
    nodeCount: reader.integer('nodeCount', 1, MOST_NODES),
    processors: reader.integer('processorsOnEachNode', 1, MOST_PROCESSORS),
    allProcessors: reader.integer('processorsPerNode', 1, MOST_NODES * MOST_PROCESSORS),
    memoryMb: memory === undefined ? null : memoryMb('memoryPerNode', memory),
    maxSeconds: time === undefined ? null : runSeconds('maxRunTime', time),
    inputs: values(reader, 'inputs'),
    parameters: readParameters(reader),
    subscriptions: readSubscriptions(reader),
  };
  reader.end();
  return submission;
}

function required(reader: Reader, name: string, most: number): string {
  const text = optional(reader, name, most);
  if (text === null) throw refused('ALOE_NULL_PARAMETER', name, 'it is missing');
  return text;
}

function optional(reader: Reader, name: string, most: number): string | null {
  const value = reader.value(name);
  if (typeof value === 'string' && value.length > most) {
    throw refused('ALOE_INVALID_PARAMETER_LEN', name, `must have at most ${most} characters, not ${value.length}`);
  }
  return reader.optionalText(name, { most });
}

/** It must be there when the job archives; empty or null is the usual one. */
function readArchivePath(body: Readonly<Record<string, unknown>>, reader: Reader, archive: boolean): string {
  const path = optional(reader, 'archivePath', 255);
  if (path === null) {
    if (!archive || Object.hasOwn(body, 'archivePath')) return '';
    throw refused(
      'ALOE_NULL_PARAMETER',
      'archivePath',
      'it is missing: a job that archives says where, or "" for the usual place',
    );
  }
  if (path.split('/').includes('..')) {
    throw refused('ALOE_INVALID_PARAMETER', 'archivePath', 'must not lead out of the archive system: no ..');
  }
  const [unknown] = unknownMacros(path);
  if (unknown !== undefined) {
    throw refused('ALOE_INVALID_PARAMETER', 'archivePath', `there is no macro \${${echo(unknown)}}`);
  }
  return path;
}

/** `parameter` is how some templates call them. */
function readParameters(reader: Reader): Readonly<Record<string, unknown>> {
  const parameters = values(reader, 'parameters');
  const old = values(reader, 'parameter');
  if (Object.keys(old).length === 0) return parameters;
  if (Object.keys(parameters).length === 0) return old;
  throw refused('ALOE_JSON_VALIDATION_ERROR', 'parameter', 'give parameters, not both');
}

function values(reader: Reader, name: string): Readonly<Record<string, unknown>> {
  const value = reader.value(name) ?? {};
  if (!isFields(value)) throw refused('ALOE_JSON_VALIDATION_ERROR', name, 'must be a JSON object');
  return value;
}

/** What the reader of definitions says, by the code that clients know. */
export function inWordsOfAloe(error: unknown): unknown {
  if (!(error instanceof MusterError) || error.code !== 'invalid_field') return error;
  const { field, reason } = error.details;
  return refused('ALOE_JSON_VALIDATION_ERROR', String(field), String(reason));
}
