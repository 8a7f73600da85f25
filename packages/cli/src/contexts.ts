import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MusterError } from './errors.js';
import type { World } from './world.js';

/**
 * Contexts: settings of several servers under names, one of which is in use. Each is a settings file,
 * `~/.muster/contexts/NAME.yaml`; `~/.muster/context` holds the name of the one in use.
 */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const ENDING = '.yaml';

type Home = Pick<World, 'env'>;

/** @throws MusterError `usage` for what is no name, and without a home directory */
export function contextFile(world: Home, name: string): string {
  if (!NAME.test(name)) {
    throw new MusterError('usage', { reason: `'${name}' is no name of a context: letters, digits and _ . -` });
  }
  return join(folder(world), `${name}${ENDING}`);
}

/** Name of the context in use; undefined: none is. */
export function currentContext({ env }: Home): string | undefined {
  if ((env.HOME ?? '') === '') return undefined;
  return reading(() => readFileSync(currentFile({ env }), 'utf8').trim());
}

export function contextNames(world: Home): readonly string[] {
  const files = reading(() => readdirSync(folder(world))) ?? [];
  return files
    .filter((file) => file.endsWith(ENDING))
    .map((file) => file.slice(0, -ENDING.length))
    .filter((name) => NAME.test(name))
    .sort();
}

/** Not over one that is there. @throws MusterError `usage` */
export function writeContext(world: Home, name: string, text: string): void {
  const path = contextFile(world, name);
  mkdirSync(folder(world), { recursive: true, mode: 0o700 });
  try {
    writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EEXIST')) throw cause;
    const reason = `there is a context ${name} already; \`muster context rm ${name}\` removes it`;
    throw new MusterError('usage', { reason }, { cause });
  }
}

export function useContext(world: Home, name: string): void {
  mustExist(world, name);
  writeFileSync(currentFile(world), `${name}\n`, { mode: 0o600 });
}

export function removeContext(world: Home, name: string): void {
  mustExist(world, name);
  rmSync(contextFile(world, name));
  if (currentContext(world) === name) rmSync(currentFile(world));
}

/** @throws MusterError `usage` */
export function mustExist(world: Home, name: string): void {
  contextFile(world, name);
  const names = contextNames(world);
  if (names.includes(name)) return;
  const known = names.length === 0 ? 'there are none yet' : `there are ${names.join(', ')}`;
  throw new MusterError('usage', { reason: `there is no context ${name}; ${known}` });
}

function folder(world: Home): string {
  return join(ownFolder(world), 'contexts');
}

function currentFile(world: Home): string {
  return join(ownFolder(world), 'context');
}

function ownFolder({ env: { HOME: home = '' } }: Home): string {
  if (home === '') throw new MusterError('usage', { reason: 'contexts are kept in ~/.muster, and HOME is not set' });
  return join(home, '.muster');
}

function reading<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
