import type { Json } from '@muster/wire';
import { DISBATCH_LIMITS } from '../limits.js';
import { Refusal } from '../refusal.js';
import type { Condition, Test } from './condition.js';
import { type FieldKind, readValue } from './values.js';

/** What of a filter is still allowed. */
interface Left {
  conditions: number;
}

/**
 * Reads a filter as MongoDB has them: equality also of dotted names, and the operators that clients use. What is not known is
 * refused by its name: to pass it over would find what was not asked for.
 * @throws Refusal
 */
export function readFilter(filter: Json, fields: ReadonlyMap<string, FieldKind>): Condition {
  return readObject(filter, fields, 0, { conditions: DISBATCH_LIMITS.filterConditions });
}

function readObject(filter: Json, fields: ReadonlyMap<string, FieldKind>, depth: number, left: Left): Condition {
  if (!isObject(filter)) throw new Refusal('a filter must be a name/value object');
  checkDepth(depth);
  const of = Object.entries(filter).map(([name, value]): Condition => {
    spend(left);
    switch (name) {
      case '$and':
        return { kind: 'all', of: readEach(name, value, fields, depth, left) };
      case '$or':
        return { kind: 'any', of: readEach(name, value, fields, depth, left) };
      case '$nor':
        return { kind: 'none', of: readEach(name, value, fields, depth, left) };
    }
    if (name.startsWith('$')) throw unknown(name);
    const path = name.split('.');
    if (path.length > DISBATCH_LIMITS.filterDepth) throw new Refusal('filter is nested too deeply');
    return { kind: 'field', path, tests: readTests(value, fields.get(name) ?? 'other', depth, left) };
  });
  return of.length === 1 && of[0] !== undefined ? of[0] : { kind: 'all', of };
}

function readEach(
  name: string,
  value: Json,
  fields: ReadonlyMap<string, FieldKind>,
  depth: number,
  left: Left,
): readonly Condition[] {
  if (!Array.isArray(value) || value.length === 0) throw new Refusal(`${name} must be a list of filters`);
  return value.map((one: Json) => readObject(one, fields, depth + 1, left));
}

function readTests(value: Json, kind: FieldKind, depth: number, left: Left): readonly Test[] {
  checkDepth(depth);
  checkValueDepth(value, depth);
  if (!isOperators(value)) return [{ op: 'eq', value: readValue(value, kind) }];
  return Object.entries(value).map(([name, operand]) => {
    spend(left);
    return readTest(name, operand, kind, depth, left);
  });
}

function readTest(name: string, operand: Json, kind: FieldKind, depth: number, left: Left): Test {
  switch (name) {
    case '$eq':
    case '$ne':
      return { op: name === '$eq' ? 'eq' : 'ne', value: readValue(operand, kind) };
    case '$gt':
      return { op: 'gt', value: readValue(operand, kind) };
    case '$gte':
      return { op: 'gte', value: readValue(operand, kind) };
    case '$lt':
      return { op: 'lt', value: readValue(operand, kind) };
    case '$lte':
      return { op: 'lte', value: readValue(operand, kind) };
    case '$in':
    case '$nin': {
      if (!Array.isArray(operand)) throw new Refusal(`${name} must be a list`);
      if (operand.length > DISBATCH_LIMITS.filterValues) throw new Refusal(`${name} has too many values`);
      return { op: name === '$in' ? 'in' : 'nin', values: operand.map((one: Json) => readValue(one, kind)) };
    }
    case '$exists':
      return { op: 'exists', value: operand !== false && operand !== 0 && operand !== null };
    case '$not':
      if (!isOperators(operand)) throw new Refusal('$not must be an object of operators');
      return { op: 'not', tests: readTests(operand, kind, depth + 1, left) };
    default:
      throw unknown(name);
  }
}

/** An object of operators, and not a value: `{"$oid":…}` and other Extended JSON are values. */
function isOperators(value: Json): value is { [name: string]: Json } {
  if (!isObject(value)) return false;
  const names = Object.keys(value);
  if (names.length === 1 && EXTENDED.has(names[0] ?? '')) return false;
  return names.some((name) => name.startsWith('$'));
}

const EXTENDED: ReadonlySet<string> = new Set(['$oid', '$date', '$numberInt', '$numberLong', '$numberDouble']);

function isObject(value: Json): value is { [name: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function unknown(name: string): Refusal {
  const known = '$and, $or, $nor, $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $exists, $not';
  return new Refusal(`unsupported operator ${name.slice(0, 40)} in filter; there are ${known}`);
}

function spend(left: Left): void {
  left.conditions--;
  if (left.conditions < 0) throw new Refusal(`a filter has at most ${DISBATCH_LIMITS.filterConditions} conditions`);
}

function checkDepth(depth: number): void {
  if (depth > DISBATCH_LIMITS.filterDepth) throw new Refusal('filter is nested too deeply');
}

function checkValueDepth(value: Json, depth: number): void {
  checkDepth(depth);
  if (typeof value !== 'object' || value === null) return;
  for (const inner of Object.values(value)) checkValueDepth(inner as Json, depth + 1);
}
