import type { Json } from '@muster/wire';
import { isId } from '../../ids.js';
import { DISBATCH_LIMITS } from '../limits.js';
import { type Parameters, readJson } from '../parameters.js';
import { Refusal } from '../refusal.js';
import { isObject } from '../values.js';

/** Which fields GET /tasks finds tasks by: those of the original's indexes, and those that the settings name (sheet §4D-1). */

const OWN: readonly (readonly string[])[] = [['id'], ['node', 'status', 'queue', 'id'], ['queue', 'status']];

export function indexesWith(further: readonly (readonly string[])[]): readonly (readonly string[])[] {
  return [...OWN, ...further.map((fields) => fields.map((name) => (name === '_id' ? 'id' : name)))];
}

const TITLE = 'Disbatch Tasks Query';

/** What is answered to a request that asks for nothing: how to ask. */
export function querySchema(indexes: readonly (readonly string[])[]) {
  const names = [...new Set(indexes.flat())].sort();
  return {
    schema: {
      verb: 'GET',
      limit: DISBATCH_LIMITS.searchLimit,
      title: TITLE,
      subtitle: 'Warning: this can return a LOT of data!',
      params: Object.fromEntries(names.map((name) => [name, { repeatable: 'yes', type: ['string'] }])),
    },
    indexes,
  };
}

/** @throws Refusal for parameters that no index leads to: one does when all of its fields to the left are given, too. */
export function checkIndexed(names: readonly string[], indexes: readonly (readonly string[])[], path: string): void {
  const allowed = (name: string): boolean =>
    indexes.some(
      (fields) => fields.includes(name) && fields.slice(0, fields.indexOf(name)).every((one) => names.includes(one)),
    );
  const invalid = names.filter((name) => !allowed(name));
  if (invalid.length === 0) return;
  throw new Refusal({
    error: 'non-indexed params given',
    invalid_params: invalid.sort(),
    indexes,
    path,
    title: TITLE,
  });
}

export function refuseEverything(indexes: readonly (readonly string[])[], path: string): Refusal {
  return new Refusal({
    error: 'refusing to return everything - include one or more indexed search restrictions',
    indexes,
    path,
    title: TITLE,
  });
}

/** Parameters as a filter: several values of one are alternatives, nothing said of one is nothing asked. @throws Refusal */
export function filterOf(params: Parameters): { readonly [name: string]: Json } {
  const filter: Record<string, Json> = {};
  for (const [name, value] of Object.entries(params)) {
    if (isEmpty(value)) continue;
    const values = (Array.isArray(value) ? value : [value]).filter((one: Json) => !isEmpty(one));
    const isOid = name === 'id' || name === 'queue';
    const [first] = values;
    if (!isOid && values.length === 1 && isObject(first)) filter[name] = first;
    else filter[name === 'id' ? '_id' : name] = { $in: values.flatMap(isOid ? idOf : likely) };
  }
  return filter;
}

export function isEmpty(value: Json | undefined): boolean {
  return value === undefined || value === null || value === '';
}

function idOf(value: Json): string[] {
  const id = isObject(value) ? value.$oid : value;
  if (typeof id === 'string' && isId(id)) return [id];
  throw new Refusal(`Bad OID passed: ${JSON.stringify(value).slice(0, DISBATCH_LIMITS.echoed)}`);
}

/** Text that looks like a number may mean either: a query string has only text. */
function likely(value: Json): Json[] {
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? [Number(value), value] : [value];
}

/** `.fields`, which is JSON in a query string. */
export function fieldsOf(value: Json | undefined): Json | undefined {
  return typeof value === 'string' && value !== '' ? readJson(value) : value;
}
