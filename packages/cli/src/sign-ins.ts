import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MusterError } from './errors.js';
import type { World } from './world.js';

/**
 * What `muster login` keeps: for each server and organization a short-lived access token, in a file of its own below
 * `~/.muster/logins` that nobody else reads.
 */
export interface KeptSignIn {
  readonly url: string;
  readonly org: string;
  readonly issuer: string;
  readonly user: string;
  readonly token: string;
  /** ISO 8601. */
  readonly expires_at: string;
}

type Home = Pick<World, 'env'>;
type Place = Pick<KeptSignIn, 'url' | 'org'>;

/** Undefined: nobody has signed in there. @throws MusterError `usage` */
export function keptSignIn(world: Home, place: Place): KeptSignIn | undefined {
  if ((world.env.HOME ?? '') === '') return undefined;
  const path = fileOf(world, place);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  return read(path, text);
}

/** In one step: a reader finds the former one or this one. */
export function keepSignIn(world: Home, signIn: KeptSignIn): void {
  const path = fileOf(world, signIn);
  mkdirSync(folder(world), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomBytes(8).toString('hex')}`;
  try {
    writeFileSync(draft, `${JSON.stringify(signIn, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

export function forgetSignIn(world: Home, place: Place): void {
  rmSync(fileOf(world, place), { force: true });
}

function read(path: string, text: string): KeptSignIn {
  const broken = new MusterError('usage', { reason: `${path} cannot be read: delete it, and \`muster login\` again` });
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    throw broken;
  }
  const { url, org, issuer, user, token, expires_at } = (found ?? {}) as Readonly<Record<string, unknown>>;
  const given = { url, org, issuer, user, token, expires_at };
  if (!isText(given)) throw broken;
  return given;
}

function isText<Key extends string>(given: Readonly<Record<Key, unknown>>): given is Readonly<Record<Key, string>> {
  return Object.values(given).every((value) => typeof value === 'string');
}

function fileOf(world: Home, { url, org }: Place): string {
  const name = createHash('sha256').update(`${url}\n${org}`).digest('hex').slice(0, 32);
  return join(folder(world), `${name}.json`);
}

function folder({ env: { HOME: home = '' } }: Home): string {
  if (home === '') throw new MusterError('usage', { reason: 'sign-ins are kept in ~/.muster, and HOME is not set' });
  return join(home, '.muster', 'logins');
}
