import type { Json } from '@muster/wire';
import type { Params } from '../types.js';
import type { Document } from './filter/condition.js';

const PREFIX = 'document.';

/**
 * The parameters of the task that is made of a document: a value that is the text `document.FIELD` is that field of it, null
 * where it has none; other values are as they are (sheet §4D-3). Only fields at the top.
 */
export function substituted(params: Params, document: Document): Params {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, isReference(value) ? fieldOf(document, value) : value]),
  );
}

function isReference(value: Json): value is string {
  return typeof value === 'string' && value.startsWith(PREFIX);
}

function fieldOf(document: Document, reference: string): Json {
  const name = reference.slice(PREFIX.length);
  return Object.hasOwn(document, name) ? (document[name] ?? null) : null;
}
