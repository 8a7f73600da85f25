import { APP_LIMITS } from './limits.js';

/** From where inputs are taken, besides paths on the app's storage system. */
export const INPUT_SCHEMES: readonly string[] = ['agave', 'http', 'https', 'sftp'];

export type InputProblem = { readonly scheme: string } | { readonly error: string };

const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//;

/** Why nothing can be staged from there; null: it can be tried. */
export function inputProblem(value: string): InputProblem | null {
  if (value === '') return { error: 'it is empty' };
  if (value.length > APP_LIMITS.value) return { error: `it has more than ${APP_LIMITS.value} characters` };
  if (/[\p{Cc}\p{Surrogate}]/u.test(value)) return { error: 'it has control characters in it' };
  const [, scheme] = SCHEME.exec(value) ?? [];
  if (scheme === undefined) return above(value) ? { error: 'a path must not lead above where it begins' } : null;
  if (!INPUT_SCHEMES.includes(scheme.toLowerCase())) return { scheme };
  if (!URL.canParse(value)) return { error: 'it is no URI' };
  const { hostname, pathname, protocol } = new URL(value);
  if (hostname === '') return { error: protocol === 'agave:' ? 'it names no system' : 'it names no host' };
  // What parsing has not resolved already: agave://SYSTEM/../x.
  return above(decoded(pathname)) ? { error: 'a path must not lead above where it begins' } : null;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function above(path: string): boolean {
  return path.split('/').includes('..');
}
