import type { CommandOptions } from '@muster/wire';
import { MusterError } from '../errors.js';
import {
  MAX_COMMAND_BYTES,
  MAX_DIR_BYTES,
  MAX_ENV_BYTES,
  MAX_ENV_ENTRIES,
  MAX_FILE_BYTES,
  MAX_SECONDS,
  MAX_USER_LENGTH,
} from '../limits.js';
import type { Share } from '../types.js';
import { findDuplicateKey } from './duplicate-keys.js';
import { type Body, checkText, has, invalid, invalidKey, isNumber, isObject, isStringMap } from './fields.js';
import { type Extensions, readExtensions } from './request-extensions.js';
import { commandOf, FILE_KEYS, isWithoutCommand, readFileOptions } from './request-files.js';
import { readSecrets } from './request-secrets.js';
import { checkNodesGiven, checkTargetTypes, readTarget, TARGET_KEYS, type Target } from './request-target.js';
import { parseShare } from './shares.js';

/** A POST jobs body that passed every check. Null means: not given. */
export interface JobRequest extends Extensions {
  readonly command: string;
  readonly target: Target;
  /** `default`: the organization's. */
  readonly quorum: Share | 'default' | null;
  /** Whole seconds. */
  readonly runTimeout: number | null;
  readonly options: CommandOptions;
  readonly capture: boolean;
}

const KEYS: ReadonlySet<string> = new Set([
  ...TARGET_KEYS,
  'command',
  'run_timeout',
  'quorum',
  'user',
  'dir',
  'env',
  'file',
  'capture_output',
  'node_timeout',
  'concurrency',
  'start_rate',
  'voting_timeout',
  'ack_timeout',
  'max_failures',
  'batches',
  'batch_pause',
  'batch_confirm',
  'on_failures',
  'when_busy',
  'wait_timeout',
  'secrets',
  ...FILE_KEYS,
]);

/**
 * Validates a POST jobs body, the first failure wins: rows 1 to 12 of sheet §7.5 in their order and with their
 * texts, then the limits the deployed server answered with 500, then the keys it does not know.
 * `text` is the body as sent: duplicate keys are visible only there.
 */
export function readJobRequest(body: unknown, text: string, limits: { readonly maxNodes: number }): JobRequest {
  if (!isObject(body)) throw new MusterError('invalid_job');
  const given = body.command;
  if (typeof given !== 'string' && !isWithoutCommand(body)) throw new MusterError('invalid_command');
  checkTargetTypes(body);
  if (has(body, 'run_timeout') && !isNumber(body.run_timeout)) throw new MusterError('invalid_run_timeout');
  const quorum = has(body, 'quorum') ? readQuorum(body.quorum) : null;
  if (quorum === undefined) throw new MusterError('invalid_quorum');
  for (const key of ['user', 'dir', 'file'] as const) {
    if (has(body, key) && typeof body[key] !== 'string') throw new MusterError('invalid_job');
  }
  if (has(body, 'env') && !isStringMap(body.env)) throw new MusterError('invalid_job');
  if (has(body, 'capture_output') && typeof body.capture_output !== 'boolean') {
    throw new MusterError('invalid_capture_output');
  }
  const unknown = Object.keys(body).find((key) => !KEYS.has(key));
  if (unknown !== undefined) throw invalidKey(unknown);
  checkNodesGiven(body);
  const duplicate = findDuplicateKey(text);
  if (duplicate?.inside === 'env') throw new MusterError('duplicate_env');
  if (typeof body.file === 'string') checkFile(body.file);

  if (duplicate !== null) throw invalid(duplicate.key, 'given twice');
  const files = readFileOptions(body);
  const command = typeof given === 'string' ? given : commandOf(files);
  checkText('command', command, MAX_COMMAND_BYTES);
  if (typeof quorum === 'string' && quorum !== 'default') throw invalid('quorum', quorum);
  return {
    command,
    target: readTarget(body, limits.maxNodes),
    quorum,
    runTimeout: readRunTimeout(body.run_timeout),
    options: { ...readOptions(body), ...readSecrets(body), ...files },
    capture: body.capture_output === true,
    ...readExtensions(body),
  };
}

/** As `parseShare`, or the word that asks for the organization's. */
function readQuorum(value: unknown): ReturnType<typeof parseShare> {
  return value === 'default' ? value : parseShare(value);
}

function readRunTimeout(value: unknown): number | null {
  if (!isNumber(value)) return null;
  if (value < 0 || value > MAX_SECONDS) throw invalid('run_timeout', `must be 0 to ${MAX_SECONDS} seconds`);
  return Math.round(value);
}

function readOptions(body: Body): CommandOptions {
  const { user, dir, env, file } = body;
  if (typeof user === 'string') {
    checkText('user', user, MAX_USER_LENGTH * 4);
    if ([...user].length > MAX_USER_LENGTH) throw invalid('user', `must not be above ${MAX_USER_LENGTH} characters`);
  }
  if (typeof dir === 'string') checkText('dir', dir, MAX_DIR_BYTES);
  if (isStringMap(env)) checkEnv(env);
  return {
    ...(typeof user === 'string' ? { user } : {}),
    ...(typeof dir === 'string' ? { dir } : {}),
    ...(isStringMap(env) ? { env } : {}),
    ...(typeof file === 'string' ? { file } : {}),
  };
}

function checkEnv(env: Readonly<Record<string, string>>): void {
  const entries = Object.entries(env);
  if (entries.length > MAX_ENV_ENTRIES) throw invalid('env', `must not have more than ${MAX_ENV_ENTRIES} variables`);
  let bytes = 0;
  for (const [name, value] of entries) {
    if (name === '' || name.includes('=')) throw invalid('env', `'${name.slice(0, 64)}' cannot name a variable`);
    checkText('env', name, MAX_ENV_BYTES);
    checkText(`env.${name.slice(0, 64)}`, value, MAX_ENV_BYTES);
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  }
  if (bytes > MAX_ENV_BYTES) throw invalid('env', `must not be above ${MAX_ENV_BYTES} bytes`);
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Rows 10 to 12. */
function checkFile(file: string): void {
  let size: number;
  if (file.startsWith('raw:')) {
    size = Buffer.byteLength(file) - 'raw:'.length;
  } else if (file.startsWith('base64:')) {
    const encoded = file.slice('base64:'.length);
    if (!BASE64.test(encoded)) throw new MusterError('invalid_file_base64');
    size = Buffer.byteLength(encoded, 'base64');
  } else {
    throw new MusterError('invalid_file_prefix');
  }
  if (size > MAX_FILE_BYTES) throw new MusterError('invalid_file_size', { limit: MAX_FILE_BYTES });
}
