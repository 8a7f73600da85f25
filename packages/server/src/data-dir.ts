import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { generateKeyPair, type KeyPair, publicHalf } from '@muster/signing';
import { stringify } from 'yaml';
import { MusterError } from './errors.js';
import type { OwnUrl } from './own-url.js';

/** Keys and the CLI's settings: readable by the owner only. */
const PRIVATE = 0o600;

/** Whole or not at all, also when the machine stops in between. */
function writePrivate(path: string, text: string): void {
  const draft = `${path}.new`;
  writeFileSync(draft, text, { mode: PRIVATE, flush: true });
  renameSync(draft, path);
}

/** The key pair kept in this file, made at the first start. The file outlives the database: a fresh one takes it over. */
async function keyFile(path: string): Promise<KeyPair> {
  if (existsSync(path)) {
    const privateKey = readFileSync(path, 'utf8');
    return { privateKey, publicKey: publicHalfOf(privateKey, path) };
  }
  const pair = await generateKeyPair();
  writePrivate(path, pair.privateKey);
  return pair;
}

function publicHalfOf(privateKey: string, path: string): string {
  try {
    return publicHalf(privateKey);
  } catch (cause) {
    const reason = `${path} is not a private key; restore it, or move it away and a new one is made`;
    throw new MusterError('invalid_configuration', { reason }, { cause });
  }
}

/** Whether a server has been at work here: it makes its key at the first start, once the database is there. */
export function hasServerKey(dataDir: string): boolean {
  return existsSync(join(dataDir, 'server.pem'));
}

/** The first admin's key. */
export function adminKeys(dataDir: string): Promise<KeyPair> {
  return keyFile(adminKeyPath(dataDir));
}

function adminKeyPath(dataDir: string): string {
  return resolve(dataDir, 'admin.pem');
}

const WRITTEN_BY_US = '# Written by muster server. Use it with `muster --config FILE` or MUSTER_CONFIG=FILE.\n';

export interface CliSettings extends OwnUrl {
  readonly org: string;
  readonly user: string;
}

/**
 * Settings with which the CLI speaks to this server as its first admin; returns the path. Follows the server to a new
 * address, unless somebody took the file over (its first line is gone) or the admin's key is no longer here.
 */
export function writeCliSettings(dataDir: string, settings: CliSettings): string {
  const path = resolve(dataDir, 'muster.yaml');
  const key = adminKeyPath(dataDir);
  const text = WRITTEN_BY_US + stringify({ ...settings, key });
  const present = existsSync(path) ? readFileSync(path, 'utf8') : null;
  const theirs = present !== null && !present.startsWith(WRITTEN_BY_US);
  // Not written again for nothing: a server whose disk is full must be able to start.
  if (!theirs && present !== text && existsSync(key)) writePrivate(path, text);
  return path;
}
