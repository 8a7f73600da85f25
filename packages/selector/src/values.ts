import type { Bound, Comparator, Scalar } from './expression.js';
import { isJsonNumber } from './text.js';

/** True, false or (null) unknown. */
export type Truth = boolean | null;

/** Division by zero and overflow are found by the caller: what is not finite has no value. */
export const ARITHMETIC = {
  '+': (a: number, b: number) => a + b,
  '-': (a: number, b: number) => a - b,
  '*': (a: number, b: number) => a * b,
  '/': (a: number, b: number) => a / b,
  '%': (a: number, b: number) => a % b,
};

/** How two values of one type compare. */
interface Comparing {
  readonly ordered: boolean;
  holds(left: Scalar, right: Scalar): boolean;
}

export const COMPARATORS: Readonly<Record<Comparator, Comparing>> = {
  '=': { ordered: false, holds: (left, right) => left === right },
  '<>': { ordered: false, holds: (left, right) => left !== right },
  '<': { ordered: true, holds: (left, right) => left < right },
  '<=': { ordered: true, holds: (left, right) => left <= right },
  '>': { ordered: true, holds: (left, right) => left > right },
  '>=': { ordered: true, holds: (left, right) => left >= right },
};

/** JMS: comparing unlike types is false (`unlike`), with <> too; only numbers have an order. */
export function compare(comparing: Comparing, left: Scalar | null, right: Scalar | null, unlike: boolean): Truth {
  if (left === null || right === null) return null;
  if (typeof left !== typeof right) return unlike;
  if (comparing.ordered && typeof left !== 'number') return false;
  return comparing.holds(left, right);
}

/** Whether text is on the right side of a bound: above it (1) or below (-1). */
export function within(found: string, bound: Bound | null, direction: 1 | -1): boolean {
  if (bound === null) return true;
  const order = compareTexts(found, bound.text) * direction;
  return order > 0 || (order === 0 && bound.inclusive);
}

/** As numbers when both look like JSON numbers, else by code units. */
export function compareTexts(left: string, right: string): number {
  if (left === right) return 0;
  if (isJsonNumber(left) && isJsonNumber(right)) return Math.sign(Number(left) - Number(right));
  return left < right ? -1 : 1;
}
