import type { Json } from '@muster/wire';
import { countOf } from './parameters.js';
import { Refusal } from './refusal.js';
import type { SortKey } from './search.js';
import type { Projection } from './task-document.js';

/** How often a list of tasks is sorted at most, and fields of a projection. */
const MOST_SORT_KEYS = 8;
const MOST_FIELDS = 200;

/** A count, or what it is without. @throws Refusal */
export function readCount(name: string, value: Json | undefined, absent: number | undefined): number | undefined {
  if (value === undefined || value === null || value === '') return absent;
  const count = countOf(value);
  if (count === undefined) throw new Refusal(`${name} must be a non-negative integer`);
  return count;
}

/** `{"mtime": -1}`, or a list of pairs where the order of several counts. @throws Refusal */
export function readSort(value: Json | undefined): readonly SortKey[] {
  if (value === undefined || value === null) return [];
  if (typeof value !== 'object') throw new Refusal('sort must be an object such as {"_id": -1}');
  const pairs = Array.isArray(value) ? pairsOf(value) : Object.entries(value);
  if (pairs.length > MOST_SORT_KEYS) throw new Refusal(`sort has at most ${MOST_SORT_KEYS} fields`);
  return pairs.map(([name, direction]) => {
    if (direction !== 1 && direction !== -1) throw new Refusal(`sort.${name} must be 1 or -1`);
    return { path: name.split('.'), direction };
  });
}

/** The driver's ordered form is a flat list: name, direction, name, direction. */
function pairsOf(list: readonly Json[]): [string, Json][] {
  const pairs: [string, Json][] = [];
  for (let index = 0; index < list.length; index += 2) {
    const name = list[index];
    if (typeof name !== 'string') throw new Refusal('sort must name fields');
    pairs.push([name, list[index + 1] ?? null]);
  }
  return pairs;
}

/** A list of names, or an object of names and 1 or 0. Undefined: all fields. @throws Refusal */
export function readProjection(name: string, value: Json | undefined): Projection | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (Array.isArray(value)) return named(name, value);
  if (typeof value !== 'object') throw new Refusal(`${name} must be a list of names, or an object of names and 1 or 0`);
  const entries = Object.entries(value).map(([field, shown]): [string, boolean] => {
    if (![0, 1, true, false].includes(shown as number)) throw new Refusal(`${name}.${field} must be 1 or 0`);
    return [field, shown === 1 || shown === true];
  });
  if (entries.length === 0) return undefined;
  const id = entries.find(([field]) => field === '_id')?.[1] ?? true;
  const others = entries.filter(([field]) => field !== '_id');
  const kinds = new Set(others.map(([, shown]) => shown));
  if (kinds.size > 1) throw new Refusal(`${name} either names fields to show (1) or fields to leave out (0)`);
  const shownOnly = others.length === 0 ? id : kinds.has(true);
  return checked(name, { kind: shownOnly ? 'only' : 'without', names: others.map(([field]) => field), id });
}

function named(name: string, list: readonly Json[]): Projection | undefined {
  const names = list.map((one) => {
    if (typeof one !== 'string') throw new Refusal(`${name} must be a list of names`);
    return one === 'id' ? '_id' : one;
  });
  if (names.length === 0) return undefined;
  return checked(name, { kind: 'only', names: names.filter((one) => one !== '_id'), id: true });
}

function checked(name: string, projection: Projection): Projection {
  if (projection.names.length > MOST_FIELDS) throw new Refusal(`${name} has at most ${MOST_FIELDS} fields`);
  return projection;
}
