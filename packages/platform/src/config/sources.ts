import { readFileSync, statSync } from 'node:fs';
import { parseFailure } from '@muster/base';
import { parse } from 'yaml';
import { MusterError } from '../errors.js';
import { nearest, shown } from './nearest.js';
import { GROUPS, SETTINGS, type Setting, schemaOf } from './settings.js';
import { fromFile, fromText } from './text.js';

/** A setting as somebody gave it. */
export interface Given {
  /** In the terms of the schema, as far as it can be: text with a unit is a number. */
  readonly value: unknown;
  /** As it was written, for messages. */
  readonly written: unknown;
  /** What to call it in a message: `http.listen in server.yaml`, `MUSTER_HTTP_LISTEN`, `--http`. */
  readonly origin: string;
}

/** Settings by path, and what is wrong with the rest. */
export interface Source {
  readonly given: ReadonlyMap<string, Given>;
  readonly problems: readonly string[];
}

const MAX_FILE_BYTES = 1_048_576;

/** `MUSTER_*` variables that belong to the CLI, the agent and what they start. */
const FOREIGN = /^MUSTER_((URL|ORG|USER|KEY|TOKEN|CA|CONFIG|RUN|SECRETS)$|(TEST|AGENT|JOB|BENCH|DEMO)_)/;

function refuse(reason: string, cause?: unknown): MusterError {
  return new MusterError('invalid_configuration', { reason }, { cause });
}

function suggest(wrong: string, known: readonly string[]): string {
  const name = nearest(wrong, known);
  return name === undefined ? '' : ` (did you mean ${name}?)`;
}

/** A map, as JSON and YAML make them. */
function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @throws MusterError `invalid_configuration` when the file cannot be read or is neither JSON nor YAML */
export function readSettingsFile(file: string): unknown {
  try {
    const { size } = statSync(file);
    if (size > MAX_FILE_BYTES) throw new Error(`larger than ${MAX_FILE_BYTES} bytes`);
    const text = readFileSync(file, 'utf8');
    return file.endsWith('.json') ? JSON.parse(text) : parse(text, { logLevel: 'error' });
  } catch (error) {
    throw refuse(`${file}: ${parseFailure(error)}`, error);
  }
}

/** What a file says. `null` (an empty value in YAML) is the same as leaving the key out. */
export function fromTree(tree: unknown, file: string): Source {
  const given = new Map<string, Given>();
  const problems: string[] = [];
  const walk = (value: unknown, known: readonly string[], prefix: string): void => {
    if (!isMap(value)) {
      problems.push(`${prefix === '' ? file : `${prefix.slice(0, -1)} in ${file}`}: expected a map of settings`);
      return;
    }
    for (const [key, child] of Object.entries(value)) {
      const path = `${prefix}${key}`;
      if (!known.includes(key)) {
        // `listen` at the top is as likely as `lisen` below `http`.
        const elsewhere = SETTINGS.find((setting) => setting.path.endsWith(`.${key}`))?.path;
        const siblings = known.map((name) => `${prefix}${name}`);
        const hint = suggest(path, elsewhere === undefined ? siblings : [...siblings, elsewhere]);
        const fallback = elsewhere === undefined ? '' : ` (did you mean ${elsewhere}?)`;
        problems.push(`unknown key ${shown(path)} in ${file}${hint || fallback}`);
      } else if (child !== null && child !== undefined) {
        const group = prefix === '' ? GROUPS.get(key) : undefined;
        if (group !== undefined) walk(child, Object.keys(group.properties ?? {}), `${path}.`);
        else {
          const value = fromFile(schemaOf(path) ?? {}, child);
          given.set(path, { value, written: child, origin: `${path} in ${file}` });
        }
      }
    }
  };
  if (tree !== null && tree !== undefined) walk(tree, ROOT_KEYS, '');
  return { given, problems };
}

const ROOT_KEYS = [...new Set(SETTINGS.map((setting) => setting.path.split('.')[0] ?? ''))];

/** What the environment says. An empty variable is the same as none. */
export function fromEnvironment(env: Readonly<Record<string, string | undefined>>): Source {
  const given = new Map<string, Given>();
  const problems: string[] = [];
  for (const [name, text] of Object.entries(env)) {
    if (!name.startsWith('MUSTER_') || FOREIGN.test(name) || text === undefined || text === '') continue;
    const setting = SETTINGS.find((candidate) => candidate.env === name);
    if (setting === undefined) {
      const known = SETTINGS.map((candidate) => candidate.env);
      problems.push(`unknown variable ${shown(name)}${suggest(name, known)}`);
    } else {
      given.set(setting.path, { value: fromText(schemaOf(setting.path) ?? {}, text), written: text, origin: name });
    }
  }
  return { given, problems };
}

/** `dataDir`, `data-dir` and `--data-dir` are the same flag. */
function flagName(name: string): string {
  return `--${name.replace(/^--/, '').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function flagValue(setting: Setting, value: unknown): unknown {
  return typeof value === 'string' ? fromText(schemaOf(setting.path) ?? {}, value) : value;
}

/** What the command line says, as commander gives it. */
export function fromFlags(flags: Readonly<Record<string, unknown>>): Source {
  const given = new Map<string, Given>();
  const problems: string[] = [];
  for (const [name, value] of Object.entries(flags)) {
    if (value === undefined) continue;
    const flag = flagName(name);
    const setting = SETTINGS.find((candidate) => candidate.flag === flag);
    if (setting === undefined) {
      const known = SETTINGS.map((candidate) => candidate.flag);
      problems.push(`unknown flag ${shown(flag)}${suggest(flag, known)}`);
    } else {
      given.set(setting.path, { value: flagValue(setting, value), written: value, origin: flag });
    }
  }
  return { given, problems };
}
