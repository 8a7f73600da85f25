import {
  type CommandOptions,
  type KeptFile,
  LIMITS,
  type ScriptOption,
  type UploadOption,
  upgradeFileAt,
  versionAskedFor,
} from '@muster/wire';
import {
  MAX_COMMAND_BYTES,
  MAX_PATH_BYTES,
  MAX_SCRIPT_ARGUMENT_BYTES,
  MAX_SCRIPT_ARGUMENTS,
  MAX_SCRIPT_BYTES,
  MAX_SCRIPT_NAME_BYTES,
  MAX_SIGNATURE_BYTES,
  MAX_UPLOADS,
} from '../limits.js';
import { type Body, checkText, has, invalid, isObject, isStringList } from './fields.js';

/** The keys of a POST jobs body that are about files which the server keeps: a script, uploads, a file to fetch. */
export const FILE_KEYS = ['script', 'uploads', 'fetch'] as const;

export const SHA256 = /^[0-9a-f]{64}$/;
const BASE64 = /^[A-Za-z0-9+/]{4,}={0,2}$/;

export type FileOptions = Pick<CommandOptions, 'script' | 'uploads' | 'fetch' | 'uploadOnly'>;

/** Those that are to be on the server before it is started. */
export function filesOf({ script, uploads = [] }: FileOptions): readonly KeptFile[] {
  return [...(script === undefined ? [] : [script]), ...uploads];
}

/** The files of an upgrade of agents are said by its command, and go nowhere else. */
export function isUpgrade(command: string | null, uploads: readonly Pick<UploadOption, 'dest'>[] = []): boolean {
  return (
    command !== null && versionAskedFor(command) !== null && uploads.every(({ dest }) => upgradeFileAt(dest) !== null)
  );
}

/** Does the body say what to do without a command? */
export function isWithoutCommand(body: Body): boolean {
  return !has(body, 'command') && FILE_KEYS.some((key) => has(body, key));
}

/** What stands for the command where there is none: nothing that a shell would know. */
export function commandOf({ script, uploads = [], fetch }: FileOptions): string {
  const text =
    script !== undefined
      ? [`script:${script.name}`, ...script.args].join(' ')
      : fetch !== undefined
        ? `fetch:${fetch}`
        : `upload:${uploads.map(({ dest }) => dest).join(',')}`;
  return Buffer.byteLength(text) <= MAX_COMMAND_BYTES ? text : `${[...text].slice(0, 1000).join('')}…`;
}

/** @throws MusterError `invalid_field` */
export function readFileOptions(body: Body): FileOptions {
  const script = has(body, 'script') ? readScript(body.script) : undefined;
  const uploads = has(body, 'uploads') ? readUploads(body.uploads) : undefined;
  const fetch = has(body, 'fetch') ? readPath('fetch', body.fetch) : undefined;
  const alone = isWithoutCommand(body);
  if (script !== undefined && !alone) throw invalid('command', 'must not be given with script');
  if (fetch !== undefined) {
    const other = ['command', 'script', 'uploads', 'file', 'user', 'dir', 'env'].find((key) => has(body, key));
    if (other !== undefined) throw invalid(other, 'must not be given with fetch');
    if (body.capture_output !== true) throw invalid('capture_output', 'must be true with fetch');
  }
  return {
    ...(script === undefined ? {} : { script }),
    ...(uploads === undefined ? {} : { uploads }),
    ...(fetch === undefined ? {} : { fetch }),
    ...(alone && script === undefined && fetch === undefined ? { uploadOnly: true } : {}),
  };
}

function readScript(value: unknown): ScriptOption {
  const script = readKept('script', value, ['name', 'args', 'signature']);
  const { name, args = [], signature } = script.rest;
  if (typeof name !== 'string' || name === '' || name === '.' || name === '..' || /[/\p{Cc}]/u.test(name)) {
    throw invalid('script.name', 'must be the name of a file, without a path');
  }
  checkText('script.name', name, MAX_SCRIPT_NAME_BYTES);
  if (script.size > MAX_SCRIPT_BYTES) throw invalid('script.size', `must not be above ${MAX_SCRIPT_BYTES} bytes`);
  if (!isStringList(args) || args.length > MAX_SCRIPT_ARGUMENTS) {
    throw invalid('script.args', `must be a list of at most ${MAX_SCRIPT_ARGUMENTS} strings`);
  }
  let bytes = 0;
  for (const argument of args) {
    checkText('script.args', argument, MAX_SCRIPT_ARGUMENT_BYTES);
    bytes += Buffer.byteLength(argument);
  }
  if (bytes > MAX_SCRIPT_ARGUMENT_BYTES) {
    throw invalid('script.args', `must not be above ${MAX_SCRIPT_ARGUMENT_BYTES} bytes together`);
  }
  const { sha256, size } = script;
  if (signature === undefined) return { sha256, size, name, args };
  if (typeof signature !== 'string' || signature.length > MAX_SIGNATURE_BYTES || !BASE64.test(signature)) {
    throw invalid('script.signature', 'must be base64');
  }
  return { sha256, size, name, args, signature };
}

function readUploads(value: unknown): UploadOption[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_UPLOADS) {
    throw invalid('uploads', `must be a list of 1 to ${MAX_UPLOADS} files`);
  }
  const uploads = value.map((one, index): UploadOption => {
    const field = `uploads.${index}`;
    const { sha256, size, rest } = readKept(field, one, ['dest', 'mode']);
    const { mode = 0o644 } = rest;
    if (typeof mode !== 'number' || !Number.isInteger(mode) || mode < 0 || mode > 0o777) {
      throw invalid(`${field}.mode`, 'must be permission bits, a number from 0 to 511');
    }
    return { sha256, size, dest: readPath(`${field}.dest`, rest.dest), mode };
  });
  const twice = uploads.find(({ dest }, index) => uploads.findIndex((other) => other.dest === dest) !== index);
  if (twice !== undefined) throw invalid('uploads', `name ${twice.dest} twice`);
  return uploads;
}

function readKept(field: string, value: unknown, others: readonly string[]) {
  if (!isObject(value)) throw invalid(field, 'must be an object');
  const { sha256, size, ...rest } = value;
  if (typeof sha256 !== 'string' || !SHA256.test(sha256)) {
    throw invalid(`${field}.sha256`, 'must be 64 digits of 0-9 and a-f');
  }
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) {
    throw invalid(`${field}.size`, 'must be a number of bytes');
  }
  const unknown = Object.keys(rest).find((key) => !others.includes(key));
  if (unknown !== undefined) throw invalid(`${field}.${unknown}`, 'is not known');
  return { sha256, size, rest: rest as Body };
}

/** An absolute path in its one spelling: what an agent allows is compared with it letter by letter. */
function readPath(field: string, value: unknown): string {
  if (typeof value !== 'string') throw invalid(field, 'must be a path');
  checkText(field, value, Math.min(MAX_PATH_BYTES, LIMITS.pathBytes));
  const parts = value.split('/').slice(1);
  if (!value.startsWith('/') || parts.length === 0 || parts.some((part) => ['', '.', '..'].includes(part))) {
    throw invalid(field, 'must be an absolute path of a file, without empty parts, . and ..');
  }
  return value;
}
