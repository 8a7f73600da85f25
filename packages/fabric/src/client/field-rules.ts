import { MusterError } from '../errors.js';

/** What one field must be: programs in JavaScript have no compiler that says so. */
export interface Rule {
  readonly fits: (value: unknown) => boolean;
  /** In words, after "expected". */
  readonly expected: string;
}

/** For each field that there is. */
export type Rules<T> = { readonly [Field in keyof Required<T>]: Rule };

export const TEXT: Rule = { fits: (value) => typeof value === 'string', expected: 'a text' };
export const NAME: Rule = {
  fits: (value) => typeof value === 'string' && value !== '' && !value.includes('\0'),
  expected: 'a text that is not empty and has no NUL',
};
export const BOOLEAN: Rule = { fits: (value) => typeof value === 'boolean', expected: 'true or false' };
export const FUNCTION: Rule = { fits: (value) => typeof value === 'function', expected: 'a function' };
export const OBJECT: Rule = { fits: isObject, expected: 'an object' };
/** For signatures. */
export const KEY: Rule = {
  fits: (value) => (typeof value === 'string' || value instanceof Uint8Array) && value.length > 0,
  expected: 'a key: text or bytes (Uint8Array), not empty',
};

export function oneOf(...values: readonly string[]): Rule {
  return { fits: (value) => values.some((each) => each === value), expected: `one of ${values.join(', ')}` };
}

/** A number from `least` to `most`. */
export function numberWithin(least: number, most: number, unit = ''): Rule {
  return {
    fits: (value) => typeof value === 'number' && value >= least && value <= most,
    expected: `a number from ${least} to ${most}${unit}`,
  };
}

export function integerFrom(least: number, unit = ''): Rule {
  return {
    fits: (value) => Number.isSafeInteger(value) && (value as number) >= least,
    expected: `a whole number from ${least} on${unit}`,
  };
}

/**
 * Fields that are undefined count as absent. @param what What is checked, and before the names of its fields, if any.
 * @throws MusterError `invalid_field`
 */
export function checkFields<T>(what: string, given: unknown, rules: Rules<T>, prefix = ''): asserts given is T {
  if (!isObject(given)) throw unfit(what, OBJECT, given);
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(rules, name)) {
      throw invalid(`${prefix}${name}`, `there is no such field; there are ${Object.keys(rules).join(', ')}`);
    }
    const rule = rules[name as keyof T];
    if (value !== undefined && !rule.fits(value)) throw unfit(`${prefix}${name}`, rule, value);
  }
}

/** Tells the kind of a value only: it may be a secret. */
export function unfit(field: string, { expected }: Pick<Rule, 'expected'>, value: unknown): MusterError {
  return invalid(field, `expected ${expected}, got ${kindOf(value)}`);
}

export function invalid(field: string, reason: string): MusterError {
  return new MusterError('invalid_field', { field, reason });
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (typeof value === 'number') return `the number ${value}`;
  if (typeof value === 'string') return value === '' ? 'an empty text' : 'another text';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
