import type { Comparison, Condition, Expression, In, Scalar, Value } from './expression.js';
import { globPattern, likePattern, matches } from './pattern.js';
import { type TextAttributes, textAttribute } from './text.js';
import { ARITHMETIC, COMPARATORS, compare, compareTexts, type Truth, within } from './values.js';

/**
 * What a selector is asked about. Absent, undefined and null are NULL. Of a list, `=` and Lucene-style terms ask whether one of its
 * texts is what they want; to everything else it is NULL.
 */
export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>;

export type Predicate<Source = Attributes> = (attributes: Source) => boolean;

type Test<Source> = (attributes: Source) => Truth;
type Read<Source> = (attributes: Source) => Scalar | null;

/** The predicate of a selector: true only where the expression is true, not where it is unknown. */
export function compile(expression: Expression): Predicate {
  return predicate(expression, TYPED);
}

/** The same for attributes that are text, and numbers where they look like numbers (`TextAttributes`). */
export function compileText(expression: Expression): Predicate<TextAttributes> {
  return predicate(expression, TEXT);
}

function predicate<Source>(expression: Expression, source: Reading<Source>): Predicate<Source> {
  const test = new Compiler(source).condition(expression);
  return (attributes) => test(attributes) === true;
}

/** How attributes are read. */
interface Reading<Source> {
  /** For what takes any value. */
  value(name: string): Read<Source>;
  /** For what takes text. */
  text(name: string): Read<Source>;
  /** Whether it is this value: the most frequent test, so that it is worth its own short way. */
  equals(name: string, value: Scalar): Test<Source>;
  /** Whether its text, or one of its texts, is so; false when there is none. */
  some(name: string, test: (text: string) => boolean): Test<Source>;
  /** Whether all attributes are of one type, text, so that two of them that are unlike are known to differ. */
  readonly oneType: boolean;
}

const TYPED: Reading<Attributes> = {
  value: typedAttribute,
  text: typedAttribute,
  equals: (name, value) => {
    const read = anyAttribute(name);
    return (attributes) => {
      const found = read(attributes);
      if (found === null) return null;
      return Array.isArray(found) ? found.includes(value) : found === value;
    };
  },
  some: (name, test) => {
    const read = anyAttribute(name);
    return (attributes) => {
      const found = read(attributes);
      if (found === null) return false;
      return Array.isArray(found) ? found.some(test) : test(String(found));
    };
  },
  oneType: false,
};

const TEXT: Reading<TextAttributes> = {
  value: (name) => (attributes) => {
    const text = attributes.get(name);
    return text === undefined ? null : textAttribute(text);
  },
  text: (name) => (attributes) => attributes.get(name) ?? null,
  equals: (name, value) => {
    if (typeof value === 'string') {
      return (attributes) => {
        const text = attributes.get(name);
        return text === undefined ? null : text === value;
      };
    }
    return (attributes) => {
      const text = attributes.get(name);
      return text === undefined ? null : textAttribute(text) === value;
    };
  },
  some: (name, test) => (attributes) => {
    const text = attributes.get(name);
    return text !== undefined && test(text);
  },
  oneType: true,
};

/** Own properties only: a selector that names `constructor` asks about an attribute, not about JavaScript. */
function anyAttribute(name: string): (attributes: Attributes) => Scalar | readonly string[] | null {
  return (attributes) => (Object.hasOwn(attributes, name) ? (attributes[name] ?? null) : null);
}

function typedAttribute(name: string): Read<Attributes> {
  const read = anyAttribute(name);
  return (attributes) => {
    const found = read(attributes);
    return typeof found === 'object' ? null : found;
  };
}

class Compiler<Source> {
  readonly #source: Reading<Source>;

  constructor(source: Reading<Source>) {
    this.#source = source;
  }

  condition(node: Condition): Test<Source> {
    switch (node.kind) {
      case 'everything':
        return () => true;
      case 'literal':
        return () => node.value;
      case 'attribute': {
        const read = this.#source.value(node.name);
        return (attributes) => {
          const value = read(attributes);
          return typeof value === 'boolean' ? value : null;
        };
      }
      case 'not': {
        const operand = this.condition(node.operand);
        return (attributes) => negate(operand(attributes));
      }
      case 'and':
        return every(
          node.operands.map((operand) => this.condition(operand)),
          false,
        );
      case 'or':
        return every(
          node.operands.map((operand) => this.condition(operand)),
          true,
        );
      case 'comparison':
        return this.#comparison(node);
      case 'between': {
        const read = this.#value(node.value);
        const low = this.#value(node.low);
        const high = this.#value(node.high);
        // JMS: NOT BETWEEN is "less than the low or greater than the high", so with unlike types neither holds.
        const [first, second] = node.negated ? (['<', '>'] as const) : (['>=', '<='] as const);
        return every(
          [
            (attributes) => compare(COMPARATORS[first], read(attributes), low(attributes), false),
            (attributes) => compare(COMPARATORS[second], read(attributes), high(attributes), false),
          ],
          node.negated,
        );
      }
      case 'in':
        return negatedIf(node.negated, this.#in(node));
      case 'like': {
        const read = this.#text(node.value);
        const pattern = likePattern(node.pattern, node.escape);
        return negatedIf(node.negated, (attributes) => {
          const found = read(attributes);
          return found === null ? null : typeof found === 'string' && matches(pattern, found);
        });
      }
      case 'null': {
        const read = this.#text(node.value);
        return (attributes) => (read(attributes) === null) !== node.negated;
      }
      case 'match':
        return this.#ofText(node.attribute, (found) => compareTexts(found, node.text) === 0);
      case 'glob': {
        const pattern = globPattern(node.pattern);
        return this.#ofText(node.attribute, (found) => matches(pattern, found));
      }
      case 'range': {
        const { low, high } = node;
        return this.#ofText(node.attribute, (found) => within(found, low, 1) && within(found, high, -1));
      }
    }
  }

  #comparison(node: Comparison): Test<Source> {
    if (node.operator === '=') {
      if (node.left.kind === 'attribute' && node.right.kind === 'literal') {
        return this.#source.equals(node.left.name, node.right.value);
      }
      if (node.left.kind === 'literal' && node.right.kind === 'attribute') {
        return this.#source.equals(node.right.name, node.left.value);
      }
    }
    const left = this.#against(node.right, node.left);
    const right = this.#against(node.left, node.right);
    const comparing = COMPARATORS[node.operator];
    const attributesOnly = node.left.kind === 'attribute' && node.right.kind === 'attribute';
    const unlike = node.operator === '<>' && attributesOnly && this.#source.oneType;
    return (attributes) => compare(comparing, left(attributes), right(attributes), unlike);
  }

  /** A value as what the other side is: beside a string it is asked for its text. */
  #against(other: Value, node: Value): Read<Source> {
    return other.kind === 'literal' && typeof other.value === 'string' ? this.#text(node) : this.#value(node);
  }

  #in(node: In): Test<Source> {
    const texts = new Set<Scalar>(node.options.filter((option) => typeof option === 'string'));
    const others = new Set<Scalar>(node.options.filter((option) => typeof option !== 'string'));
    const text = this.#text(node.value);
    const value = this.#value(node.value);
    if (others.size === 0) {
      return (attributes) => {
        const found = text(attributes);
        return found === null ? null : texts.has(found);
      };
    }
    return (attributes) => {
      const found = value(attributes);
      if (found === null) return null;
      return others.has(found) || (texts.size > 0 && texts.has(text(attributes) ?? found));
    };
  }

  #text(node: Value): Read<Source> {
    return node.kind === 'attribute' ? this.#source.text(node.name) : this.#value(node);
  }

  #value(node: Value): Read<Source> {
    switch (node.kind) {
      case 'literal':
        return () => node.value;
      case 'attribute':
        return this.#source.value(node.name);
      case 'negate': {
        const operand = this.#value(node.operand);
        return (attributes) => {
          const found = operand(attributes);
          return typeof found === 'number' ? -found : null;
        };
      }
      case 'arithmetic': {
        const left = this.#value(node.left);
        const right = this.#value(node.right);
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

  /**
   * Sugar sees every attribute as text. As in Lucene, and unlike SQL, a term about an absent attribute is false:
   * `NOT env:prod` finds the nodes that have no `env`, too.
   */
  #ofText(name: string, test: (text: string) => boolean): Test<Source> {
    return this.#source.some(name, test);
  }
}

function negate(truth: Truth): Truth {
  return truth === null ? null : !truth;
}

function negatedIf<Source>(negated: boolean, test: Test<Source>): Test<Source> {
  return negated ? (attributes) => negate(test(attributes)) : test;
}

/** AND and OR are the same but for the value that decides: one FALSE, or one TRUE. Unknown otherwise wins. */
function every<Source>(tests: readonly Test<Source>[], decisive: boolean): Test<Source> {
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
