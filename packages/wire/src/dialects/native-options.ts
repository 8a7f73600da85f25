import type { JsonObject } from '../fields.js';
import * as read from '../fields.js';
import { LIMITS } from '../limits.js';
import type { CommandOptions, KeptFile, ScriptOption, UploadOption } from '../messages/index.js';
import { Dropped } from './types.js';

type NativeOptions = Pick<
  CommandOptions,
  'words' | 'secrets' | 'secretFile' | 'script' | 'uploads' | 'fetch' | 'uploadOnly'
>;

/** The options of a command that this dialect alone knows: its words, its secrets, and files which the server keeps. They are written as they are. */
export function readNativeOptions(from: JsonObject): NativeOptions {
  const words = read.nullable(from, 'words', (at, field) => readWords(at[field]));
  const secrets = read.nullable(from, 'secrets', (at, field) => readSecrets(read.object(at, field)));
  const secretFile = read.nullable(from, 'secretFile', (at, field) =>
    readList(at[field], LIMITS.secretsInFile).map(readParameterName),
  );
  const script = read.nullable(from, 'script', (at, field) => readScript(read.object(at, field)));
  const uploads = read.nullable(from, 'uploads', (at, field) => readList(at[field], LIMITS.uploads).map(readUpload));
  const fetch = read.nullable(from, 'fetch', (at, field) => read.name(at, field, LIMITS.pathBytes));
  const uploadOnly = read.nullable(from, 'uploadOnly', read.flag);
  return {
    ...(words === null ? {} : { words }),
    ...(secrets === null ? {} : { secrets }),
    ...(secretFile === null ? {} : { secretFile }),
    ...(script === null ? {} : { script }),
    ...(uploads === null ? {} : { uploads }),
    ...(fetch === null ? {} : { fetch }),
    ...(uploadOnly === true ? { uploadOnly } : {}),
  };
}

function readScript(from: JsonObject): ScriptOption {
  const signature = read.nullable(from, 'signature', (at, field) => read.name(at, field, LIMITS.signatureBytes));
  return {
    ...readKept(from),
    name: read.name(from, 'name'),
    args: readWords(from.args),
    ...(signature === null ? {} : { signature }),
  };
}

function readWords(value: unknown): readonly string[] {
  return readList(value, LIMITS.scriptArguments).map((word) => read.text({ word }, 'word', LIMITS.scriptArgumentBytes));
}

/** Names become names of files. */
const SECRET_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$/;
const VARIABLE = /^(?:[A-Za-z_][A-Za-z0-9_]{0,99})?$/;

function readSecrets(from: JsonObject): Readonly<Record<string, string>> {
  const named = Object.entries(from);
  if (named.length > LIMITS.secrets) throw new Dropped('parse_fail');
  return Object.fromEntries(
    named.map(([name, variable]) => {
      if (!SECRET_NAME.test(name) || typeof variable !== 'string' || !VARIABLE.test(variable)) {
        throw new Dropped('parse_fail');
      }
      return [name, variable] as const;
    }),
  );
}

/** Of a saved command. */
const PARAMETER_NAME = /^[a-z][a-z0-9_]{0,39}$/;

function readParameterName(value: unknown): string {
  if (typeof value !== 'string' || !PARAMETER_NAME.test(value)) throw new Dropped('parse_fail');
  return value;
}

function readUpload(value: unknown): UploadOption {
  if (!read.isObject(value)) throw new Dropped('parse_fail');
  const mode = read.count(value, 'mode');
  if (mode > 0o777) throw new Dropped('parse_fail');
  return { ...readKept(value), dest: read.name(value, 'dest', LIMITS.pathBytes), mode };
}

const SHA256 = /^[0-9a-f]{64}$/;

function readKept(from: JsonObject): KeptFile {
  const sha256 = read.name(from, 'sha256', 64);
  if (!SHA256.test(sha256)) throw new Dropped('parse_fail');
  return { sha256, size: read.count(from, 'size') };
}

function readList(value: unknown, most: number): readonly unknown[] {
  if (!Array.isArray(value) || value.length > most) throw new Dropped('parse_fail');
  return value;
}
