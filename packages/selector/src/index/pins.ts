import type { Comparison, Condition, Expression, Scalar, Value } from '../expression.js';
import { LIMITS } from '../limits.js';
import { globPattern, likePattern, literalPrefix, type Pattern } from '../pattern.js';
import { textAttribute } from '../text.js';

/**
 * What must hold of one attribute of any event that makes a clause true. Necessary, not sufficient: the expression is
 * evaluated on whatever the pins let through, so an interval may take its open ends in.
 */
export type Pin =
  /** Its text is one of these, or the number it looks like is. */
  | { readonly kind: 'values'; readonly attribute: string; readonly values: readonly (string | number)[] }
  | { readonly kind: 'prefix'; readonly attribute: string; readonly prefix: string }
  /** It looks like a number from `low` to `high`. */
  | { readonly kind: 'interval'; readonly attribute: string; readonly low: number; readonly high: number }
  /** The event has it. */
  | { readonly kind: 'present'; readonly attribute: string };

/** A conjunction: at most one pin for each attribute, and not more than LIMITS.indexPins. */
export type Pins = readonly Pin[];

/**
 * The expression as a disjunction: whatever makes it true meets all pins of at least one clause. No clause at all:
 * nothing makes it true. A clause without pins: any event may.
 */
export function clausesOf(expression: Expression): readonly Pins[] {
  return clauses(expression, true);
}

/** How many places in the index a pin takes. */
export function places(pin: Pin): number {
  return pin.kind === 'values' ? pin.values.length : 1;
}

const ANY: readonly Pins[] = [[]];
const NEVER: readonly Pins[] = [];

/** Clauses for the node being `wanted`. By De Morgan, a false AND is an OR of false operands. */
function clauses(node: Condition, wanted: boolean): readonly Pins[] {
  switch (node.kind) {
    case 'everything':
      return wanted ? ANY : NEVER;
    case 'literal':
      return node.value === wanted ? ANY : NEVER;
    case 'not':
      return clauses(node.operand, !wanted);
    case 'and':
    case 'or':
      return (node.kind === 'and') === wanted
        ? conjunction(node.operands.map((operand) => clauses(operand, wanted)))
        : any(node.operands, wanted);
    default:
      return [pinsOf(node, wanted)];
  }
}

/** The clauses of an AND: pins of all operands hold together. Of operands with several clauses one is taken apart. */
export function conjunction(operands: readonly (readonly Pins[])[]): readonly Pins[] {
  const common: Pin[] = [];
  let branches: readonly Pins[] | null = null;
  for (const found of operands) {
    const [first] = found;
    if (first === undefined) return NEVER;
    if (found.length === 1) narrow(common, first);
    else if (branches === null || found.length < branches.length) branches = found;
  }
  // Copied to take no more room than it needs: it lives as long as the subscription.
  return branches === null ? [common.slice()] : branches.map((branch) => narrow([...branch], common));
}

/** One of the operands holds. Equalities on one attribute are one clause, as with IN. */
function any(operands: readonly Condition[], wanted: boolean): readonly Pins[] {
  const found: Pins[] = [];
  const equalities = new Map<string, (string | number)[]>();
  for (const operand of operands) {
    for (const pins of clauses(operand, wanted)) {
      const [only] = pins;
      if (only === undefined) return ANY;
      if (pins.length > 1 || only.kind !== 'values') {
        found.push(pins);
        continue;
      }
      const values = equalities.get(only.attribute);
      if (values === undefined) equalities.set(only.attribute, [...only.values]);
      else for (const value of only.values) values.push(value);
    }
  }
  for (const [name, values] of equalities) found.push([oneOf(name, [...new Set(values)])]);
  return found.length > LIMITS.indexClauses ? [inCommon(found)] : found;
}

/** What holds in each of the clauses: of the attributes pinned in all of them, one of the values. */
function inCommon(of: readonly Pins[]): Pins {
  const byAttribute = new Map<string, Pin[]>();
  for (const pin of of.flat()) {
    const pins = byAttribute.get(pin.attribute);
    if (pins === undefined) byAttribute.set(pin.attribute, [pin]);
    else pins.push(pin);
  }
  return [...byAttribute].filter(([, pins]) => pins.length === of.length).map(([name, pins]) => either(name, pins));
}

function either(name: string, pins: readonly Pin[]): Pin {
  const options: (string | number)[] = [];
  for (const pin of pins) {
    if (pin.kind !== 'values') return present(name);
    for (const value of pin.values) options.push(value);
  }
  return oneOf(name, [...new Set(options)]);
}

type Leaf = Exclude<Condition, { readonly kind: 'everything' | 'literal' | 'not' | 'and' | 'or' }>;

function pinsOf(node: Leaf, wanted: boolean): Pins {
  switch (node.kind) {
    case 'comparison':
      return pinsOfComparison(node, wanted);
    case 'like': {
      const { value } = node;
      if (wanted === node.negated || value.kind !== 'attribute') return known(value);
      return [pinOfPattern(value.name, likePattern(node.pattern, node.escape))];
    }
    case 'in': {
      const { value } = node;
      if (wanted === node.negated || value.kind !== 'attribute') return known(value);
      return [oneOf(value.name, node.options)];
    }
    case 'between': {
      const { value, low, high } = node;
      // Where it is false, or negated, one end may be unknown and the other decide.
      if (!wanted || node.negated) return known(value);
      if (value.kind !== 'attribute') return known(value, low, high);
      return narrow([interval(value.name, number(low) ?? -Infinity, number(high) ?? Infinity)], known(low, high));
    }
    case 'null':
      return wanted === node.negated ? known(node.value) : [];
    case 'attribute':
      return known(node);
    // A search term is false, not unknown, about what is absent; so false pins nothing.
    case 'match':
      return wanted ? [oneOf(node.attribute, [textAttribute(node.text)])] : [];
    case 'glob':
      return wanted ? [pinOfPattern(node.attribute, globPattern(node.pattern))] : [];
    case 'range':
      return wanted ? [present(node.attribute)] : [];
  }
}

const FLIPPED = { '=': '=', '<>': '<>', '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const;

function pinsOfComparison(node: Comparison, wanted: boolean): Pins {
  const { operator, left, right } = node;
  if (wanted && left.kind === 'attribute' && right.kind === 'literal') {
    return [pinOfTest(left.name, operator, right.value)];
  }
  if (wanted && left.kind === 'literal' && right.kind === 'attribute') {
    return [pinOfTest(right.name, FLIPPED[operator], left.value)];
  }
  return known(left, right);
}

function pinOfTest(name: string, operator: Comparison['operator'], value: Scalar): Pin {
  if (operator === '=') return oneOf(name, [value]);
  if (operator === '<>' || typeof value !== 'number') return present(name);
  return operator.startsWith('<') ? interval(name, -Infinity, value) : interval(name, value, Infinity);
}

function pinOfPattern(name: string, pattern: Pattern): Pin {
  const { text, whole } = literalPrefix(pattern);
  if (whole) return oneOf(name, [text]);
  return text === '' ? present(name) : { kind: 'prefix', attribute: name, prefix: text };
}

/** Booleans are left out: no text is one. */
function oneOf(name: string, options: readonly Scalar[]): Pin {
  return {
    kind: 'values',
    attribute: name,
    values: options.every(isNoBoolean) ? options : options.filter(isNoBoolean),
  };
}

function isNoBoolean(option: Scalar): option is string | number {
  return typeof option !== 'boolean';
}

function interval(name: string, low: number, high: number): Pin {
  return { kind: 'interval', attribute: name, low, high };
}

function present(name: string): Pin {
  return { kind: 'present', attribute: name };
}

function number(node: Value): number | null {
  return node.kind === 'literal' && typeof node.value === 'number' ? node.value : null;
}

/** Values that are not NULL have all their attributes. */
function known(...nodes: readonly Value[]): Pins {
  const pins: Pin[] = [];
  for (const node of nodes) for (const name of attributesOf(node)) narrow(pins, [present(name)]);
  return pins;
}

function attributesOf(node: Value): readonly string[] {
  switch (node.kind) {
    case 'literal':
      return [];
    case 'attribute':
      return [node.name];
    case 'negate':
      return attributesOf(node.operand);
    case 'arithmetic':
      return [...attributesOf(node.left), ...attributesOf(node.right)];
  }
}

/** Adds pins that hold as well. Those beyond the limit are left out, which leaves more to evaluate. */
function narrow(pins: Pin[], also: Pins): Pin[] {
  for (const pin of also) {
    const at = pins.findIndex(({ attribute }) => attribute === pin.attribute);
    const other = pins[at];
    if (other !== undefined) pins[at] = narrower(other, pin);
    else if (pins.length < LIMITS.indexPins) pins.push(pin);
  }
  return pins;
}

const RANK = { values: 3, prefix: 2, interval: 2, present: 1 } as const;

/** One of two pins on the same attribute. Both hold, so either may be dropped. */
function narrower(one: Pin, other: Pin): Pin {
  if (one.kind === 'interval' && other.kind === 'interval') {
    return interval(one.attribute, Math.max(one.low, other.low), Math.min(one.high, other.high));
  }
  if (one.kind === 'prefix' && other.kind === 'prefix') return one.prefix.length >= other.prefix.length ? one : other;
  if (one.kind === 'values' && other.kind === 'values') return places(one) <= places(other) ? one : other;
  return RANK[one.kind] >= RANK[other.kind] ? one : other;
}
