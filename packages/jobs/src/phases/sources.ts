import { posix } from 'node:path';
import { Failed } from '../types.js';

/** Where an input comes from. */
export type Source =
  | { readonly kind: 'system'; readonly system: string | null; readonly path: string; readonly name: string }
  | { readonly kind: 'web'; readonly url: URL; readonly name: string }
  /** A host that is a system of the organization: its own login is used. */
  | {
      readonly kind: 'sftp';
      readonly host: string;
      readonly port: number;
      readonly user: string | null;
      readonly path: string;
      readonly name: string;
    };

const SCHEME = /^([a-z][a-z0-9+.-]*):\/\//i;
const SFTP_PORT = 22;

/**
 * What an input's value says: `agave://SYSTEM/path`, `http(s)://…`, `sftp://[USER@]HOST[:PORT]/path`, or a path on the
 * default system of inputs.
 * @throws Failed for another scheme, and for what is no URL
 */
export function sourceOf(value: string): Source {
  const scheme = SCHEME.exec(value)?.[1]?.toLowerCase();
  if (scheme === undefined) return { kind: 'system', system: null, path: value, name: nameOf(value) };
  if (scheme === 'agave') return agave(value);
  let url: URL;
  try {
    url = new URL(value);
  } catch (cause) {
    throw new Failed('JOB_UNABLE_TO_STAGE_INPUTS', `JOBS_INPUT_URI_PARSE_ERROR '${value}' is no URL`, { cause });
  }
  const path = decoded(url.pathname);
  if (scheme === 'http' || scheme === 'https') return { kind: 'web', url, name: nameOf(path, url.hostname) };
  if (scheme !== 'sftp') {
    throw new Failed(
      'JOB_UNABLE_TO_STAGE_INPUTS',
      `JOBS_INPUT_UNSUPPORTED_SCHEME '${scheme}': use agave, http, https or sftp`,
    );
  }
  const user = url.username === '' ? null : decoded(url.username);
  const port = url.port === '' ? SFTP_PORT : Number(url.port);
  return { kind: 'sftp', host: url.hostname, port, user, path, name: nameOf(path) };
}

/** Names of systems are no names of hosts: it is no URL as others are. `agave:///path` is on the default system. */
function agave(value: string): Source {
  const [, system = '', rest = ''] = /^agave:\/\/([^/]*)(.*)$/i.exec(value) ?? [];
  const path = decoded(rest);
  return { kind: 'system', system: system === '' ? null : system, path, name: nameOf(path) };
}

function nameOf(path: string, otherwise = 'input'): string {
  const name = posix.basename(path);
  return name === '' || name === '.' || name === '..' ? otherwise : name;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
