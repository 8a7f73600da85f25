import { createHash } from 'node:crypto';
import { type KeptFile, LIMITS } from '@muster/wire';
import { invalid } from '../request/fields.js';
import { type JobRequest, readJobRequest } from '../request/request.js';
import type { Target } from '../request/request-target.js';
import type { Definition } from './definition.js';
import { fill, fillWords, type Values } from './places.js';

/** A run as a push job. */
export interface Compiled {
  readonly request: JobRequest;
  /** What is in the script, which is to be among the files of the server before the job is started. */
  readonly script: Buffer | null;
  /** The file, when secrets are in it: nodes fetch it. It is not in the request then. */
  readonly secretFile: string | null;
}

/** @throws MusterError as POST jobs: what is too long was not known before. */
export function compile(
  name: string,
  definition: Definition,
  values: Values,
  limits: { readonly maxNodes: number },
): Compiled {
  const compiled = compileOpenly(name, definition, values, limits);
  const secrets = secretsAmong(definition, values);
  if (secrets.length === 0) return compiled;
  const { file: _, ...options } = compiled.request.options;
  const request = { ...compiled.request, options: { ...options, secretFile: secrets } };
  return { ...compiled, request, secretFile: fill(definition.file ?? '', values) };
}

/** Parameters that are secret, and were given. */
export function secretsAmong({ parameters = {} }: Definition, values: Values): string[] {
  return [...values.keys()].filter((name) => parameters[name]?.type === 'secret');
}

function compileOpenly(
  name: string,
  definition: Definition,
  values: Values,
  limits: { readonly maxNodes: number },
): Compiled {
  const { command, script, args = [], signature, file, available, job } = definition;
  const given = {
    // Any node at all: without one there is nothing to run.
    quorum: available === true ? 1 : 'default',
    ...job,
    capture_output: true,
    ...(file !== undefined && { file: `base64:${Buffer.from(fill(file, values)).toString('base64')}` }),
  };
  if (script !== undefined) {
    const bytes = Buffer.from(script);
    const option = {
      ...keptFile(bytes),
      name,
      args: fillWords(args, values),
      ...(signature !== undefined && { signature }),
    };
    return { request: read({ ...given, script: option }, limits), script: bytes, secretFile: null };
  }
  if (typeof command === 'string') return { request: read({ ...given, command }, limits), ...NO_FILES };
  const words = fillWords(command ?? [], values);
  const request = read({ ...given, command: words.map(quoted).join(' ') }, limits);
  checkWords(words);
  return { request: { ...request, options: { ...request.options, words } }, ...NO_FILES };
}

const NO_FILES = { script: null, secretFile: null };

/** On which nodes it runs, whatever its parameters are. @throws MusterError as POST jobs */
export function targetOf({ job }: Definition, limits: { readonly maxNodes: number }): Target {
  return read({ ...job, command: 'true' }, limits).target;
}

/** What it does, for people. */
export function commandOf({ command, script, args = [] }: Definition): string {
  if (script !== undefined) return ['script', ...args].join(' ');
  return typeof command === 'string' ? command : (command ?? []).join(' ');
}

export function keptFile(bytes: Buffer): KeptFile {
  return { sha256: createHash('sha256').update(bytes).digest('hex'), size: bytes.length };
}

function read(body: object, limits: { readonly maxNodes: number }): JobRequest {
  return readJobRequest(body, JSON.stringify(body), limits);
}

function checkWords(words: readonly string[]): void {
  const { scriptArguments: most, scriptArgumentBytes: bytes } = LIMITS;
  if (words.length > most) throw invalid('command', `must not have more than ${most} words`);
  if (words.some((word) => Buffer.byteLength(word) > bytes)) {
    throw invalid('command', `a word of it must not be above ${bytes} bytes`);
  }
}

/** For people, and for the patterns of nodes: a shell would read the words again from it. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
