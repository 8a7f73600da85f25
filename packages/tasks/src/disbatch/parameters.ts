import type { Json } from '@muster/wire';
import { DISBATCH_LIMITS } from './limits.js';
import { Refusal } from './refusal.js';

/** What a request says, wherever it says it. A body may be a list (tasks to add). */
export type Parameters = { readonly [name: string]: Json };

export interface RawRequest {
  readonly contentType: string | undefined;
  readonly body: Uint8Array;
  /** Without the question mark. */
  readonly query: string;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads what a request says from exactly one place: a form, JSON, or else the query string (sheet §4A). The type alone
 * decides, so that an empty body with the type of a form says nothing.
 * @throws Refusal for JSON that cannot be read, and for too many parameters.
 */
export function readParameters({ contentType, body, query }: RawRequest): Json {
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  if (type === 'application/x-www-form-urlencoded') return readForm(decode(body));
  if (type === 'application/json') return body.length === 0 ? {} : readJson(decode(body));
  return readForm(query);
}

/** The same where only an object makes sense. */
export function parametersIn(said: Json): Parameters {
  if (typeof said === 'object' && said !== null && !Array.isArray(said)) return said as Parameters;
  throw new Refusal('the body must be a JSON object');
}

function decode(body: Uint8Array): string {
  try {
    return utf8.decode(body);
  } catch {
    throw new Refusal('the body is not UTF-8');
  }
}

/** @throws Refusal, also for a key `__proto__`, which would become a prototype. */
export function readJson(text: string): Json {
  try {
    return JSON.parse(text, (key, value: Json) => {
      if (key === '__proto__') throw new SyntaxError('the key __proto__ is not allowed');
      return value;
    }) as Json;
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unreadable';
    throw new Refusal(`malformed JSON: ${reason.slice(0, DISBATCH_LIMITS.echoed)}`);
  }
}

/** `a=1&a=2;b=3`: separated by either sign, repeated names are lists, `+` is a space. */
export function readForm(text: string): Parameters {
  const read = new Map<string, Json>();
  const pairs = text.split(/[&;]/).filter((pair) => pair !== '');
  if (pairs.length > DISBATCH_LIMITS.parameters) throw new Refusal('too many parameters');
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    const name = unescaped(at === -1 ? pair : pair.slice(0, at));
    const value = at === -1 ? '' : unescaped(pair.slice(at + 1));
    if (name === '__proto__') throw new Refusal('the name __proto__ is not allowed');
    const before = read.get(name);
    read.set(name, before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value]);
  }
  return Object.fromEntries(read);
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new Refusal('a parameter is not valid percent-encoding');
  }
}

/** Parameters and, of 4.4, options: names that begin with a dot. */
export function splitOptions(said: Parameters): { readonly params: Parameters; readonly options: Parameters } {
  const entries = Object.entries(said);
  return {
    params: Object.fromEntries(entries.filter(([name]) => !name.startsWith('.'))),
    options: Object.fromEntries(entries.filter(([name]) => name.startsWith('.'))),
  };
}

/** As the original's language judges: any text but the empty one and `0`. */
export function isTrue(value: Json | undefined): boolean {
  return value !== undefined && value !== null && value !== '' && value !== '0' && value !== 0 && value !== false;
}

/**
 * A count such as `threads`, which forms send as digits (sheet §1.2). Undefined: it is none.
 */
export function countOf(value: Json | undefined): number | undefined {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}
