import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { MusterError } from '@muster/wire';
import { parse } from 'yaml';
import { CONFIRM_ABOVE, MAX_FILE_BYTES } from './limits.js';
import type { World } from './world.js';

/** How requests prove who sends them. */
export type Credentials =
  | { readonly kind: 'key'; readonly user: string; readonly privateKey: string }
  /** `user`: whose token it is, where that must be said. */
  | { readonly kind: 'token'; readonly token: string; readonly user?: string };

export interface Settings {
  /** Without a trailing slash. */
  readonly url: string;
  readonly org: string;
  readonly credentials: Credentials;
  /** Jobs on more nodes than this need --yes. */
  readonly confirmAbove: number;
  /** Where the settings were found, for people. */
  readonly source: string;
}

/** Settings that may stand in the environment too: their names in upper case with `MUSTER_`. */
const ENVIRONMENT_KEYS = ['url', 'org', 'user', 'key', 'token'] as const;
/** Keys of a CLI configuration file. */
const SETTING_KEYS = [...ENVIRONMENT_KEYS, 'confirm_above'] as const;
type SettingKey = (typeof SETTING_KEYS)[number];
type Raw = { [K in SettingKey]?: string };

/** What a server writes on its first start, relative to where it was started. */
const FALLBACK_FILE = 'muster-data/muster.yaml';

/**
 * Settings of the CLI, low to high: the configuration file (`--config`, else MUSTER_CONFIG, else
 * ./muster-data/muster.yaml when no server is named), then MUSTER_* variables.
 */
export function loadSettings(world: Pick<World, 'env' | 'cwd'>, configFlag?: string): Settings {
  const fromEnv = environment(world.env);
  const named = configFlag ?? nonEmpty(world.env.MUSTER_CONFIG);
  const fallback = resolve(world.cwd, FALLBACK_FILE);
  const useFallback = named === undefined && fromEnv.url === undefined && exists(fallback);
  const file = named !== undefined ? resolve(world.cwd, named) : useFallback ? fallback : undefined;
  const fromFile = file === undefined ? {} : readSettings(file);
  return complete(
    { ...fromFile, ...withoutRival(fromFile, fromEnv) },
    file ?? 'environment',
    fromEnv.key === undefined && file !== undefined ? dirname(file) : world.cwd,
  );
}

/** A token from the environment replaces a key from the file, and the other way round. */
function withoutRival(low: Raw, high: Raw): Raw {
  if (high.token !== undefined && high.key === undefined) delete low.key;
  if (high.key !== undefined && high.token === undefined) delete low.token;
  return high;
}

function environment(env: World['env']): Raw {
  const raw: Raw = {};
  for (const key of ENVIRONMENT_KEYS) {
    const value = nonEmpty(env[`MUSTER_${key.toUpperCase()}`]);
    if (value !== undefined) raw[key] = value;
  }
  return raw;
}

function readSettings(path: string): Raw {
  let document: unknown;
  try {
    document = parse(readText(path)) ?? {};
  } catch (error) {
    if (error instanceof MusterError) throw error;
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    throw new MusterError('usage', { reason: `${path} is neither YAML nor JSON: ${reason}` });
  }
  if (typeof document !== 'object' || document === null || Array.isArray(document)) {
    throw new MusterError('usage', { reason: `${path} must hold the keys ${SETTING_KEYS.join(', ')}` });
  }
  const raw: Raw = {};
  for (const [key, value] of Object.entries(document)) {
    const known = SETTING_KEYS.find((name) => name === key);
    if (known === undefined) {
      throw new MusterError('usage', { reason: `${path}: unknown key '${key}' (known: ${SETTING_KEYS.join(', ')})` });
    }
    if (typeof value !== 'string' && typeof value !== 'number') {
      throw new MusterError('usage', { reason: `${path}: '${key}' must be text` });
    }
    raw[known] = String(value);
  }
  return raw;
}

function complete(raw: Raw, source: string, keyBase: string): Settings {
  if (raw.url === undefined) {
    throw new MusterError('usage', {
      reason: 'no server is set: give --config FILE, MUSTER_CONFIG, or MUSTER_URL with MUSTER_USER and MUSTER_KEY',
    });
  }
  return {
    url: serverUrl(raw.url),
    org: raw.org ?? 'default',
    credentials: credentials(raw, keyBase),
    confirmAbove: wholeNumber(raw.confirm_above) ?? CONFIRM_ABOVE,
    source,
  };
}

function credentials(raw: Raw, keyBase: string): Credentials {
  if (raw.token !== undefined) {
    return { kind: 'token', token: raw.token, ...(raw.user !== undefined && { user: raw.user }) };
  }
  if (raw.key === undefined || raw.user === undefined) {
    throw new MusterError('usage', { reason: 'give MUSTER_USER and MUSTER_KEY (a PEM file), or MUSTER_TOKEN' });
  }
  // The key itself may stand in the variable, as secret stores of CI systems hand it out.
  const inline = raw.key.includes('-----BEGIN');
  return { kind: 'key', user: raw.user, privateKey: inline ? raw.key : readText(resolve(keyBase, raw.key)) };
}

function serverUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new MusterError('usage', { reason: `'${text}' is not an http:// or https:// URL` });
  }
  return url.href.replace(/\/+$/, '');
}

function wholeNumber(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text))
    throw new MusterError('usage', { reason: `confirm_above must be a number, not '${text}'` });
  return Number(text);
}

/** Reads a small text file; a missing or unreadable one is an error that names it. */
export function readText(path: string): string {
  try {
    if (statSync(path).size > MAX_FILE_BYTES) {
      throw new MusterError('usage', { reason: `${path} is larger than ${MAX_FILE_BYTES} bytes` });
    }
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof MusterError) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new MusterError('usage', { reason: `cannot read ${path} (${code})` });
  }
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text;
}
