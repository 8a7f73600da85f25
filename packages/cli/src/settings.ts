import { createPrivateKey } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseFailure } from '@muster/base';
import { parse } from 'yaml';
import { contextFile, currentContext, mustExist } from './contexts.js';
import { MusterError } from './errors.js';
import { readingOf } from './files.js';
import { CONFIRM_ABOVE, MAX_FILE_BYTES } from './limits.js';
import { type KeptSignIn, keptSignIn } from './sign-ins.js';
import type { World } from './world.js';

/** How requests prove who sends them. */
export type Credentials =
  /** `file`: where the key is, unless the settings hold the PEM itself. */
  | { readonly kind: 'key'; readonly user: string; readonly privateKey: string; readonly file?: string }
  /** `user`: whose token it is, where that must be said. */
  | { readonly kind: 'token'; readonly token: string; readonly user?: string }
  /** For what anybody may ask, such as how one signs in. */
  | { readonly kind: 'none'; readonly user?: never };

/** Where the server is. */
export interface ServerSettings {
  /** Without a trailing slash. */
  readonly url: string;
  /** PEM of the authorities that may have signed the server's certificate, instead of the well-known ones. */
  readonly ca?: string;
  readonly org: string;
  /** Where the settings were found, for people. */
  readonly source: string;
}

export interface ServerPlace extends ServerSettings {
  /** What of the settings says who asks; null: nothing does. */
  readonly proof: 'key' | 'token' | null;
}

export interface Settings extends ServerSettings {
  readonly credentials: Credentials;
  /** Jobs on more nodes than this need --yes. */
  readonly confirmAbove: number;
}

/** Settings that may stand in the environment too: their names in upper case with `MUSTER_`. */
const ENVIRONMENT_KEYS = ['url', 'org', 'user', 'key', 'token', 'ca'] as const;
/** Keys of a CLI configuration file. */
export const SETTING_KEYS = [...ENVIRONMENT_KEYS, 'confirm_above'] as const;
type SettingKey = (typeof SETTING_KEYS)[number];
type Raw = { [K in SettingKey]?: string | undefined };
export type SettingsOfFile = Readonly<Raw>;

/** What a server writes on its first start, relative to where it was started. */
const SERVER_FILE = 'muster-data/muster.yaml';
/** A person's own, relative to the home directory. */
const OWN_FILE = '.muster/muster.yaml';

/** What is given on the command line, for all commands that talk to a server. */
export interface SettingFlags {
  readonly config?: string | undefined;
  /** Name of a context. */
  readonly context?: string | undefined;
  readonly ca?: string | undefined;
}

/**
 * Settings of the CLI, low to high: the configuration file, then MUSTER_* variables, then flags. The file is `--config`, else that of
 * the context `--context`, else MUSTER_CONFIG, else that of MUSTER_CONTEXT, else, when MUSTER_URL names no server, that of the context
 * in use, ./muster-data/muster.yaml or ~/.muster/muster.yaml.
 */
export function loadSettings(world: Pick<World, 'env' | 'cwd'>, flags: SettingFlags = {}): Settings {
  const gathered = gather(world, flags);
  const { raw, from } = gathered;
  const server = serverOf(gathered);
  return {
    ...server,
    credentials: credentials(gathered) ?? toldOf(from('user'), () => signedIn(world, server, raw.user)),
    confirmAbove: toldOf(from('confirm_above'), () => wholeNumber(raw.confirm_above)) ?? CONFIRM_ABOVE,
  };
}

/** Where the server is, whether or not anything says who asks. @throws MusterError `usage` */
export function loadServer(world: Pick<World, 'env' | 'cwd'>, flags: SettingFlags = {}): ServerPlace {
  const gathered = gather(world, flags);
  const { raw } = gathered;
  const proof = raw.token !== undefined ? 'token' : raw.key !== undefined ? 'key' : null;
  return { ...serverOf(gathered), proof };
}

/** The settings file, if any, and the name of the context that it is of. */
interface SettingsPlace {
  readonly file?: string;
  readonly context?: string;
}

function settingsPlace(world: Pick<World, 'env' | 'cwd'>, flags: SettingFlags): SettingsPlace {
  return namedFile(world, flags) ?? fileByItself(world, environment(world.env, world.cwd));
}

/** @param origin Where what `read` reads was said; undefined: in a file that its errors name as far as they can. */
function toldOf<T>(origin: string | undefined, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (origin === undefined || !(error instanceof MusterError) || error.code !== 'usage') throw error;
    throw new MusterError('usage', { reason: `${origin}: ${error.message}` }, { cause: error });
  }
}

interface Gathered {
  readonly raw: Raw;
  readonly source: string;
  /** What says a setting, or would have to: a flag, a variable, a context; undefined: another file. */
  readonly from: (key: SettingKey) => string | undefined;
}

function gather(world: Pick<World, 'env' | 'cwd'>, flags: SettingFlags): Gathered {
  const { env, cwd } = world;
  const { file, context } = settingsPlace(world, flags);
  const fromEnv = environment(env, cwd);
  const ofContext = context === undefined ? undefined : `context ${context}`;
  const fromFile = file === undefined ? {} : toldOf(ofContext, () => readSettings(file));
  const fromFlags = flags.ca === undefined ? {} : { ca: resolve(cwd, flags.ca) };
  const raw = { ...withoutRival(fromFile, fromEnv), ...fromEnv, ...fromFlags };
  const from = (key: SettingKey) => {
    if (key in fromFlags) return `--${key}`;
    return key in fromEnv ? variableOf(key) : ofContext;
  };
  return { raw, source: file ?? 'environment', from };
}

const variableOf = (key: SettingKey): string => `MUSTER_${key.toUpperCase()}`;

function namedFile(world: Pick<World, 'env' | 'cwd'>, { config, context }: SettingFlags): SettingsPlace | undefined {
  const { env, cwd } = world;
  if (config !== undefined && context !== undefined) {
    throw new MusterError('usage', { reason: 'give --config or --context, not both' });
  }
  const path = config ?? (context === undefined ? nonEmpty(env.MUSTER_CONFIG) : undefined);
  if (path !== undefined) return { file: resolve(cwd, path) };
  const name = context ?? nonEmpty(env.MUSTER_CONTEXT);
  return name === undefined ? undefined : contextPlace(world, name);
}

function fileByItself(world: Pick<World, 'env' | 'cwd'>, { url }: Raw): SettingsPlace {
  if (url !== undefined) return {};
  const { env, cwd } = world;
  const used = currentContext(world);
  if (used !== undefined) return contextPlace(world, used);
  const home = nonEmpty(env.HOME);
  const places = [resolve(cwd, SERVER_FILE), ...(home === undefined ? [] : [join(home, OWN_FILE)])];
  const file = places.find(exists);
  return file === undefined ? {} : { file };
}

function contextPlace(world: Pick<World, 'env' | 'cwd'>, context: string): SettingsPlace {
  mustExist(world, context);
  return { file: contextFile(world, context), context };
}

/** What a file says, beside the environment: a token there replaces a key of the file, and the other way round. */
function withoutRival({ key, token, ...file }: Raw, env: Raw): Raw {
  return {
    ...file,
    ...(key !== undefined && env.token === undefined && { key }),
    ...(token !== undefined && env.key === undefined && { token }),
  };
}

function environment(env: World['env'], cwd: string): Raw {
  const raw: Raw = {};
  for (const key of ENVIRONMENT_KEYS) {
    const value = nonEmpty(env[variableOf(key)]);
    if (value !== undefined) raw[key] = value;
  }
  return beside(cwd, raw);
}

/** Paths are relative to where they are written: the working directory, or the directory of the file. */
function beside(directory: string, { key, ca, ...raw }: Raw): Raw {
  return {
    ...raw,
    ...(key !== undefined && { key: isPem(key) ? key : resolve(directory, key) }),
    ...(ca !== undefined && { ca: isPem(ca) ? ca : resolve(directory, ca) }),
  };
}

/** The text itself may stand in a variable, as secret stores of CI systems hand it out. */
function isPem(text: string): boolean {
  return text.includes('-----BEGIN');
}

function pem(pathOrText: string): string {
  return isPem(pathOrText) ? pathOrText : readText(pathOrText);
}

/** What stands in a settings file, paths whole. @throws MusterError `usage` */
export function readSettings(path: string): Raw {
  let document: unknown;
  try {
    document = parse(readText(path)) ?? {};
  } catch (error) {
    if (error instanceof MusterError) throw error;
    const reason = `${path} is neither YAML nor JSON: ${parseFailure(error)}`;
    throw new MusterError('usage', { reason }, { cause: error });
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
  return beside(dirname(path), raw);
}

/** That a server can be asked with what a context holds, as far as this machine knows. @throws MusterError `usage` */
export function checkContext(settings: SettingsOfFile): void {
  const { url, key, ca, confirm_above: confirmAbove } = settings;
  if (url === undefined) throw new MusterError('usage', { reason: 'give --url URL, or --from FILE with one' });
  serverUrl(url);
  oneProof(settings);
  if (key !== undefined) checkPrivateKey(key);
  if (ca !== undefined) authority(ca);
  wholeNumber(confirmAbove);
}

function checkPrivateKey(pathOrText: string): void {
  const text = pem(pathOrText);
  try {
    createPrivateKey(text);
  } catch (error) {
    const reason = `${isPem(pathOrText) ? 'the key' : pathOrText} is not a private key: give a PEM file without a passphrase`;
    throw new MusterError('usage', { reason }, { cause: error });
  }
}

function serverOf({ raw: { url, ca, org = 'default' }, source, from }: Gathered): ServerSettings {
  return {
    url: toldOf(from('url'), () => serverUrl(url ?? noServer())),
    ...(ca !== undefined && { ca: toldOf(from('ca'), () => authority(ca)) }),
    org,
    source,
  };
}

function noServer(): never {
  throw new MusterError('usage', {
    reason:
      'no server is set: write ~/.muster/muster.yaml, `muster context use NAME`, or give --config FILE, MUSTER_CONFIG, or MUSTER_URL with MUSTER_USER and MUSTER_KEY',
  });
}

/** The PEM that `--ca`, else MUSTER_CA, names. @throws MusterError `usage` */
export function readAuthority({ env, cwd }: Pick<World, 'env' | 'cwd'>, flag?: string): string | undefined {
  const { ca } = beside(cwd, { ca: flag ?? nonEmpty(env.MUSTER_CA) });
  return ca === undefined ? undefined : toldOf(flag === undefined ? variableOf('ca') : '--ca', () => authority(ca));
}

function authority(pathOrText: string): string {
  const text = pem(pathOrText);
  if (/-----BEGIN (TRUSTED |X509 )?CERTIFICATE-----/.test(text)) return text;
  throw new MusterError('usage', {
    reason: `${isPem(pathOrText) ? 'the text' : pathOrText} holds no PEM certificate`,
  });
}

/** null: the settings have none. */
function credentials({ raw, from }: Gathered): Credentials | null {
  toldOf(from('token'), () => oneProof(raw));
  if (raw.token !== undefined) {
    return { kind: 'token', token: raw.token, ...(raw.user !== undefined && { user: raw.user }) };
  }
  const { key, user } = raw;
  if (key === undefined) return null;
  return {
    kind: 'key',
    user: toldOf(from('user'), () => user ?? noCredentials()),
    privateKey: toldOf(from('key'), () => pem(key)),
    ...(!isPem(key) && { file: key }),
  };
}

function noCredentials(): never {
  throw new MusterError('usage', {
    reason:
      'nothing says who you are: `muster login`, or give MUSTER_USER and MUSTER_KEY (a PEM file), or MUSTER_TOKEN',
  });
}

/** Two of them may be of two users. @throws MusterError `usage` */
function oneProof({ key, token }: SettingsOfFile): void {
  if (key !== undefined && token !== undefined)
    throw new MusterError('usage', { reason: 'give a key or a token, not both: each says who asks' });
}

/** What `muster login` has kept. @param user Whom the settings name. */
function signedIn(world: Pick<World, 'env'>, server: ServerSettings, user: string | undefined): Credentials {
  const kept = keptSignIn(world, server);
  if (kept === undefined) noCredentials();
  mustBeOf(kept, user);
  return { kind: 'token', token: kept.token, user: kept.user };
}

/** Nobody acts as somebody other than the one whom their settings name. @throws MusterError `usage` */
export function mustBeOf(kept: KeptSignIn, user: string | undefined): void {
  if (user === undefined || user === kept.user) return;
  throw new MusterError('usage', {
    reason: `the settings name the user ${user} without a key, and ${kept.user} is signed in: give the key of ${user}, \`muster login\` as ${user}, or take the user out of the settings`,
  });
}

/** As a server's URL is kept: without a trailing slash. @throws MusterError `usage` */
export function serverUrl(text: string): string {
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
  return readingOf(path, () => {
    if (statSync(path).size > MAX_FILE_BYTES) {
      throw new MusterError('usage', { reason: `${path} is larger than ${MAX_FILE_BYTES} bytes` });
    }
    return readFileSync(path, 'utf8');
  });
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text;
}
