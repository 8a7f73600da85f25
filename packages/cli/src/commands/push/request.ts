import { readFileSync, statSync } from 'node:fs';
import { MusterError } from '../../errors.js';
import { pathOfFile, readingOf } from '../../files.js';
import { MAX_JOB_FILE_BYTES } from '../../limits.js';
import type { ShareText } from '../../share.js';
import { joinWords } from '../../words.js';
import { type BatchOptions, batchSizes } from './batches.js';
import type { Kept } from './kept.js';
import type { Chosen, Target } from './target.js';

/** Flags of `push start` and `push rerun` that travel to the server. */
export interface JobOptions extends BatchOptions {
  readonly quorum?: ShareText;
  /** Whoever is up and accepts. */
  readonly available?: boolean;
  readonly concurrency?: ShareText;
  readonly startRate?: number;
  readonly maxFailures?: ShareText;
  readonly runTimeout?: number;
  readonly nodeTimeout?: number;
  readonly votingTimeout?: number;
  readonly ackTimeout?: number;
  readonly onFailures?: string;
  readonly whenBusy?: string;
  readonly waitTimeout?: number;
  readonly user?: string;
  readonly dir?: string;
  readonly env?: readonly string[];
  readonly secret?: readonly string[];
  readonly file?: string;
  readonly capture?: boolean;
}

/** The body of POST jobs. Keys that were not given are absent. */
export type JobRequest = { readonly command?: string } & Readonly<Record<string, unknown>>;

export function jobRequest(chosen: Chosen, options: JobOptions, cwd: string): JobRequest {
  if (chosen.words.length === 0) {
    throw new MusterError('usage', { reason: 'no command: write it after --, for example -- uname -a' });
  }
  return { command: joinWords(chosen.words), ...requestWithoutCommand(chosen.target, options, cwd) };
}

/** What a job does is said by what it brings. */
export function requestWithoutCommand(target: Target, options: JobOptions, cwd: string): JobRequest {
  return requestOf(target, options, jobOptions(options, cwd));
}

/** @param body Of the job what its options say, with what is kept of an earlier one. */
export function requestOf(target: Target, options: JobOptions, body: Kept): JobRequest {
  const kept = options.capture === false ? {} : { capture_output: true };
  if (options.onFailures !== undefined && !('max_failures' in body)) {
    throw new MusterError('usage', { reason: '--on-failures goes with --max-failures: say how many are too many' });
  }
  for (const flag of ['pause', 'confirm'] as const) {
    if (options[flag] !== undefined && options[flag] !== false && !('batches' in body))
      throw new MusterError('usage', { reason: `--${flag} goes with --batch or --first` });
  }
  // Any node at all: without one there is nothing to run.
  const quorum = options.available === true ? 1 : (options.quorum ?? 'default');
  return { ...target, ...body, quorum, ...kept };
}

/** Of these flags those that were given, as the body has them; what they go with may stand in what they change. */
export function jobOptions(options: JobOptions, cwd: string): Readonly<Record<string, unknown>> {
  const given = {
    quorum: options.quorum,
    concurrency: options.concurrency,
    start_rate: options.startRate,
    max_failures: options.maxFailures,
    run_timeout: options.runTimeout,
    node_timeout: options.nodeTimeout,
    voting_timeout: options.votingTimeout,
    ack_timeout: options.ackTimeout,
    on_failures: options.onFailures,
    batches: batchSizes(options),
    batch_pause: options.pause,
    batch_confirm: options.confirm,
    when_busy: options.whenBusy,
    wait_timeout: options.waitTimeout,
    user: options.user,
    dir: options.dir,
    env: options.env === undefined ? undefined : readEnv(options.env),
    secrets: options.secret === undefined ? undefined : readSecrets(options.secret),
    file: options.file === undefined ? undefined : readJobFile(pathOfFile('--file', cwd, options.file)),
    capture_output: options.capture === true ? true : undefined,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function readEnv(pairs: readonly string[]): Record<string, string> {
  const env: Record<string, string> = {};
  for (const pair of pairs) {
    const equals = pair.indexOf('=');
    if (equals < 1) throw new MusterError('usage', { reason: `--env takes NAME=VALUE, not '${pair}'` });
    const name = pair.slice(0, equals);
    if (Object.hasOwn(env, name)) throw new MusterError('usage', { reason: `--env names ${name} twice` });
    env[name] = pair.slice(equals + 1);
  }
  return env;
}

/** `SECRET`, or `NAME=SECRET`: what the plugin finds it as. @throws MusterError `usage` */
export function secretNames(texts: readonly string[]): Record<string, string> {
  const named: Record<string, string> = {};
  for (const text of texts) {
    const [name = '', secret = name] = text.split(/=(.*)/s);
    if (name === '' || secret === '') {
      throw new MusterError('usage', { reason: `--secret takes SECRET or NAME=SECRET, not '${text}'` });
    }
    if (Object.hasOwn(named, name)) throw new MusterError('usage', { reason: `--secret names ${name} twice` });
    named[name] = secret;
  }
  return named;
}

/** `NAME` or `NAME=VARIABLE`. */
function readSecrets(texts: readonly string[]): Record<string, string> {
  const secrets: Record<string, string> = {};
  for (const text of texts) {
    const [name = '', variable = ''] = text.split(/=(.*)/s);
    if (name === '') throw new MusterError('usage', { reason: `--secret takes NAME or NAME=VARIABLE, not '${text}'` });
    if (Object.hasOwn(secrets, name)) throw new MusterError('usage', { reason: `--secret names ${name} twice` });
    secrets[name] = variable;
  }
  return secrets;
}

/** Always base64, so that any bytes survive JSON. */
function readJobFile(path: string): string {
  return readingOf(path, () => {
    const { size } = statSync(path);
    if (size > MAX_JOB_FILE_BYTES) throw new MusterError('invalid_file_size', { limit: MAX_JOB_FILE_BYTES });
    return `base64:${readFileSync(path).toString('base64')}`;
  });
}
