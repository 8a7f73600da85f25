import type { Bound, Comparator, Condition, Expression, Scalar, Value } from './expression.js';
import { globPattern, likePattern, matches } from './pattern.js';

/** What a selector is asked about. Absent, undefined and null are NULL. */
export type Attributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

export type Predicate = (attributes: Attributes) => boolean;

/** True, false or (null) unknown. */
type Truth = boolean | null;
type Test = (attributes: Attributes) => Truth;
type Read = (attributes: Attributes) => Scalar | null;

/** The predicate of a selector: true only where the expression is true, not where it is unknown. */
export function compile(expression: Expression): Predicate {
  const test = condition(expression);
  return (attributes) => test(attributes) === true;
}

function condition(node: Condition): Test {
  switch (node.kind) {
    case 'everything':
      return () => true;
    case 'literal':
      return () => node.value;
    case 'attribute': {
      const read = attribute(node.name);
      return (attributes) => {
        const value = read(attributes);
        return typeof value === 'boolean' ? value : null;
      };
    }
    case 'not': {
      const operand = condition(node.operand);
      return (attributes) => negate(operand(attributes));
    }
    case 'and':
      return every(node.operands.map(condition), false);
    case 'or':
      return every(node.operands.map(condition), true);
    case 'comparison': {
      const left = value(node.left);
      const right = value(node.right);
      const holds = COMPARATORS[node.operator];
      return (attributes) => compare(holds, left(attributes), right(attributes));
    }
    case 'between': {
      const read = value(node.value);
      const low = value(node.low);
      const high = value(node.high);
      // JMS: NOT BETWEEN is "less than the low or greater than the high", so with unlike types neither holds.
      const [first, second] = node.negated ? (['<', '>'] as const) : (['>=', '<='] as const);
      return every(
        [
          (attributes) => compare(COMPARATORS[first], read(attributes), low(attributes)),
          (attributes) => compare(COMPARATORS[second], read(attributes), high(attributes)),
        ],
        node.negated,
      );
    }
    case 'in': {
      const read = value(node.value);
      const options: ReadonlySet<Scalar> = new Set(node.options);
      return negatedIf(node.negated, (attributes) => {
        const found = read(attributes);
        return found === null ? null : options.has(found);
      });
    }
    case 'like': {
      const read = value(node.value);
      const pattern = likePattern(node.pattern, node.escape);
      return negatedIf(node.negated, (attributes) => {
        const found = read(attributes);
        return found === null ? null : typeof found === 'string' && matches(pattern, found);
      });
    }
    case 'null': {
      const read = value(node.value);
      return (attributes) => (read(attributes) === null) !== node.negated;
    }
    case 'match':
      return ofText(node.attribute, (found) => compareTexts(found, node.text) === 0);
    case 'glob': {
      const pattern = globPattern(node.pattern);
      return ofText(node.attribute, (found) => matches(pattern, found));
    }
    case 'range': {
      const { low, high } = node;
      return ofText(node.attribute, (found) => within(found, low, 1) && within(found, high, -1));
    }
  }
}

function negate(truth: Truth): Truth {
  return truth === null ? null : !truth;
}

function negatedIf(negated: boolean, test: Test): Test {
  return negated ? (attributes) => negate(test(attributes)) : test;
}

/** AND and OR are the same but for the value that decides: one FALSE, or one TRUE. Unknown otherwise wins. */
function every(tests: readonly Test[], decisive: boolean): Test {
  return (attributes) => {
    let unknown = false;
    for (const test of tests) {
      const truth = test(attributes);
      if (truth === decisive) return decisive;
      if (truth === null) unknown = true;
    }
    return unknown ? null : !decisive;
  };
}

function value(node: Value): Read {
  switch (node.kind) {
    case 'literal':
      return () => node.value;
    case 'attribute':
      return attribute(node.name);
    case 'negate': {
      const operand = value(node.operand);
      return (attributes) => {
        const found = operand(attributes);
        return typeof found === 'number' ? -found : null;
      };
    }
    case 'arithmetic': {
      const left = value(node.left);
      const right = value(node.right);
      const compute = ARITHMETIC[node.operator];
      return (attributes) => {
        const a = left(attributes);
        const b = right(attributes);
        if (typeof a !== 'number' || typeof b !== 'number') return null;
        const result = compute(a, b);
        // Division by zero and overflow have no value.
        return Number.isFinite(result) ? result : null;
      };
    }
  }
}

/** Own properties only: a selector that names `constructor` asks about an attribute, not about JavaScript. */
function attribute(name: string): Read {
  return (attributes) => (Object.hasOwn(attributes, name) ? (attributes[name] ?? null) : null);
}

const ARITHMETIC = {
  '+': (a: number, b: number) => a + b,
  '-': (a: number, b: number) => a - b,
  '*': (a: number, b: number) => a * b,
  '/': (a: number, b: number) => a / b,
};

interface Comparing {
  readonly ordered: boolean;
  holds(left: Scalar, right: Scalar): boolean;
}

const COMPARATORS: Readonly<Record<Comparator, Comparing>> = {
  '=': { ordered: false, holds: (left, right) => left === right },
  '<>': { ordered: false, holds: (left, right) => left !== right },
  '<': { ordered: true, holds: (left, right) => left < right },
  '<=': { ordered: true, holds: (left, right) => left <= right },
  '>': { ordered: true, holds: (left, right) => left > right },
  '>=': { ordered: true, holds: (left, right) => left >= right },
};

/** JMS: comparing unlike types is false, with <> too; only numbers have an order. */
function compare(comparing: Comparing, left: Scalar | null, right: Scalar | null): Truth {
  if (left === null || right === null) return null;
  if (typeof left !== typeof right) return false;
  if (comparing.ordered && typeof left !== 'number') return false;
  return comparing.holds(left, right);
}

/**
 * Sugar sees every attribute as text. As in Lucene, and unlike SQL, a term about an absent attribute is false:
 * `NOT env:prod` finds the nodes that have no `env`, too.
 */
function ofText(name: string, test: (text: string) => boolean): Test {
  const read = attribute(name);
  return (attributes) => {
    const found = read(attributes);
    return found !== null && test(String(found));
  };
}

function within(found: string, bound: Bound | null, direction: 1 | -1): boolean {
  if (bound === null) return true;
  const order = compareTexts(found, bound.text) * direction;
  return order > 0 || (order === 0 && bound.inclusive);
}

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** As numbers when both look like JSON numbers, else by code units. */
function compareTexts(left: string, right: string): number {
  if (left === right) return 0;
  if (JSON_NUMBER.test(left) && JSON_NUMBER.test(right)) return Math.sign(Number(left) - Number(right));
  return left < right ? -1 : 1;
}
