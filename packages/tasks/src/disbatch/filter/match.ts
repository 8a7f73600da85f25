import type { Json } from '@muster/wire';
import type { Condition, Document, Test } from './condition.js';

/** Does the document fulfil the condition? As MongoDB judges. */
export function matches(condition: Condition, document: Document): boolean {
  switch (condition.kind) {
    case 'all':
      return condition.of.every((one) => matches(one, document));
    case 'any':
      return condition.of.some((one) => matches(one, document));
    case 'none':
      return !condition.of.some((one) => matches(one, document));
    case 'field': {
      const found = valuesAt(document, condition.path, 0);
      return condition.tests.every((test) => holds(test, found));
    }
  }
}

/** What stands at a path: below a list, what stands there in each of its elements. */
function valuesAt(value: Json, path: readonly string[], from: number): Json[] {
  const name = path[from];
  if (name === undefined) return [value];
  if (typeof value !== 'object' || value === null) return [];
  if (!Array.isArray(value)) {
    return Object.hasOwn(value, name) ? valuesAt((value as Document)[name] ?? null, path, from + 1) : [];
  }
  const element = /^\d{1,9}$/.test(name) ? (value[Number(name)] as Json | undefined) : undefined;
  return [
    ...(element === undefined ? [] : valuesAt(element, path, from + 1)),
    ...value.filter((one: Json) => !Array.isArray(one)).flatMap((one: Json) => valuesAt(one, path, from)),
  ];
}

function holds(test: Test, found: readonly Json[]): boolean {
  switch (test.op) {
    case 'eq':
      return equals(test.value, found);
    case 'ne':
      return !equals(test.value, found);
    case 'in':
      return test.values.some((value) => equals(value, found));
    case 'nin':
      return !test.values.some((value) => equals(value, found));
    case 'exists':
      return found.length > 0 === test.value;
    case 'not':
      return !test.tests.every((inner) => holds(inner, found));
    case 'gt':
      return each(found).some((value) => (compare(value, test.value) ?? 0) > 0);
    case 'gte':
      return each(found).some((value) => (compare(value, test.value) ?? -1) >= 0);
    case 'lt':
      return each(found).some((value) => (compare(value, test.value) ?? 0) < 0);
    case 'lte':
      return each(found).some((value) => (compare(value, test.value) ?? 1) <= 0);
  }
}

/** The values, and the elements of those that are lists. */
function each(found: readonly Json[]): readonly Json[] {
  return found.flatMap((value) => (Array.isArray(value) ? [value as Json, ...(value as Json[])] : [value]));
}

/** What is missing equals null. */
function equals(wanted: Json, found: readonly Json[]): boolean {
  if (wanted === null && found.length === 0) return true;
  return each(found).some((value) => same(value, wanted));
}

/** Undefined: they are of different kinds, and neither is before the other. */
function compare(left: Json, right: Json): number | undefined {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  if (typeof left === 'boolean' && typeof right === 'boolean') return Number(left) - Number(right);
  if (typeof left === 'string' && typeof right === 'string') return left === right ? 0 : left < right ? -1 : 1;
  return left === null && right === null ? 0 : undefined;
}

export function same(left: Json, right: Json): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const names = Object.keys(left);
  return (
    names.length === Object.keys(right).length &&
    names.every(
      (name) => Object.hasOwn(right, name) && same((left as Document)[name] ?? null, (right as Document)[name] ?? null),
    )
  );
}

const KINDS = ['undefined', 'null', 'number', 'string', 'object', 'list', 'boolean'];

function kindOf(value: Json | undefined): number {
  if (value === null) return KINDS.indexOf('null');
  return KINDS.indexOf(Array.isArray(value) ? 'list' : typeof value);
}

/** In which order two values of a field come: first by their kind. */
export function order(left: Json | undefined, right: Json | undefined): number {
  return kindOf(left) - kindOf(right) || compare(left ?? null, right ?? null) || 0;
}

/** The value that a document is sorted by. */
export function sortValue(document: Document, path: readonly string[]): Json | undefined {
  return valuesAt(document, path, 0)[0];
}
