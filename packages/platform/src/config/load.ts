import { Check, Errors } from 'typebox/value';
import { MusterError } from '../errors.js';
import { checkListening, crossProblems } from './checks.js';
import { shown } from './nearest.js';
import { redactUrl } from './redact.js';
import { type ServerConfig, ServerConfigSchema } from './schema.js';
import { GROUPS, SETTINGS, schemaOf } from './settings.js';
import { fromEnvironment, fromFlags, fromTree, type Given, readSettingsFile } from './sources.js';
import { expected } from './text.js';

export interface ConfigSources {
  /** JSON (`*.json`) or YAML. */
  readonly file?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** By name, as commander gives them (`dataDir`) or as typed (`--data-dir`). */
  readonly flags: Readonly<Record<string, unknown>>;
}

/** Problems told at once; the rest comes after these are gone. */
const MAX_PROBLEMS = 10;
/** An abort waits for nodes until they count as down, and a little longer. */
const ABORTING_MARGIN_SECONDS = 5;

/**
 * The server's settings: the file, overridden by the environment, overridden by the flags.
 *
 * @throws MusterError `invalid_configuration` that names everything that is wrong, `insecure_listen`
 */
export function loadConfig({ file, env, flags }: ConfigSources): ServerConfig {
  const sources = [
    fromTree(file === undefined ? undefined : readSettingsFile(file), file ?? ''),
    fromEnvironment(env),
    fromFlags(flags),
  ];
  const given = new Map<string, Given>(sources.flatMap((source) => [...source.given]));
  const problems = sources.flatMap((source) => source.problems);
  const config: unknown = assemble(given);
  if (!Check(ServerConfigSchema, config)) refuse([...problems, ...schemaProblems(config, given)]);
  problems.push(...crossProblems(config, (path) => given.get(path)?.origin ?? path));
  if (problems.length > 0) refuse(problems);
  checkListening(config);
  return config;
}

function refuse(problems: readonly string[]): never {
  const told = problems.slice(0, MAX_PROBLEMS);
  if (problems.length > told.length) told.push(`and ${problems.length - told.length} more`);
  throw new MusterError('invalid_configuration', { reason: told.join('; ') });
}

function assemble(given: ReadonlyMap<string, Given>): Record<string, unknown> {
  const config: Record<string, unknown> = {};
  const groups = new Map<string, Record<string, unknown>>();
  for (const name of GROUPS.keys()) {
    const group: Record<string, unknown> = {};
    groups.set(name, group);
    config[name] = group;
  }
  const set = (path: string, value: unknown): void => {
    const [name = '', key] = path.split('.');
    const group = groups.get(name);
    if (group !== undefined && key !== undefined) group[key] = value;
    else config[path] = value;
  };
  for (const { path } of SETTINGS) {
    const value = given.get(path)?.value ?? schemaOf(path)?.default;
    if (value !== undefined) set(path, value);
  }
  if (!given.has('push.aborting_timeout')) {
    const { interval, offline_threshold: threshold } = groups.get('heartbeat') ?? {};
    // Anything but numbers is refused by the schema, in its own words.
    if (typeof interval === 'number' && typeof threshold === 'number') {
      const seconds = Math.ceil(interval * threshold) + ABORTING_MARGIN_SECONDS;
      const most = schemaOf('push.aborting_timeout')?.maximum ?? seconds;
      if (Number.isFinite(seconds)) set('push.aborting_timeout', Math.min(seconds, most));
    }
  }
  return config;
}

/** One problem for each setting that does not fit its schema, in the words of whoever gave it. */
function schemaProblems(config: unknown, given: ReadonlyMap<string, Given>): string[] {
  const problems = new Map<string, string>();
  for (const { instancePath } of Errors(ServerConfigSchema, config)) {
    const segments = instancePath.split('/').slice(1);
    const path = GROUPS.has(segments[0] ?? '') ? segments.slice(0, 2).join('.') : (segments[0] ?? '');
    const schema = schemaOf(path);
    if (schema === undefined || problems.has(path)) continue;
    const { written, origin } = given.get(path) ?? { written: undefined, origin: path };
    problems.set(path, `${origin}: expected ${expected(schema)}, got ${display(path, written)}`);
  }
  return problems.size > 0 ? [...problems.values()] : ['the settings do not fit together'];
}

function display(path: string, value: unknown): string {
  if (typeof value === 'string') return `'${shown(path === 'database_url' ? redactUrl(value) : value)}'`;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`;
}
