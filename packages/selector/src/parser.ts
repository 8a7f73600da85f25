import { Cursor } from './cursor.js';
import { SelectorError } from './error.js';
import {
  type Arithmetic,
  type Comparator,
  type Condition,
  EVERYTHING,
  type Expression,
  type Scalar,
  type Value,
} from './expression.js';
import { LIMITS } from './limits.js';
import { checkEscape } from './pattern.js';
import { skipSpaceAndComments } from './scanner.js';
import { match, NAME, scanTerm } from './sugar.js';

export interface ParseOptions {
  /** Understand Lucene-style terms (`role:web`) besides SQL; a bare word then matches the name. */
  readonly sugar: boolean;
}

/**
 * Parses a selector: the SQL-92 conditional expressions of JMS. The empty text matches everything.
 * @throws SelectorError
 */
export function parseSelector(text: string, options: ParseOptions): Expression {
  if (text.length > LIMITS.textLength) {
    throw new SelectorError(
      LIMITS.textLength,
      `the selector is longer than ${LIMITS.textLength} characters`,
      'Shorten it, or name a node group.',
    );
  }
  return new Parser(text, options.sugar).parse();
}

const COMPARATORS = ['=', '<>', '<', '<=', '>', '>='] as const;
const SIGNS = ['+', '-'] as const;
const FACTORS = ['*', '/', '%'] as const;

/** A node that may still turn out to be a condition or a value, and where its text starts. */
interface Part {
  readonly node: Condition | Value;
  readonly start: number;
}

/**
 * One grammar for conditions and values, told apart when they are used: so a parenthesis needs no second attempt,
 * and parsing is linear.
 */
class Parser {
  readonly #at: Cursor;
  readonly #sugar: boolean;
  #depth = 0;
  #arithmetic = 0;
  /** Above 0 inside an operand, where a word is an attribute and never a search term. */
  #operands = 0;
  // Made once for each parser, and not for each token.
  readonly #conjunction = () => this.#and();
  readonly #negation = () => this.#not();
  readonly #sum = () => this.#additive();
  readonly #product = () => this.#multiplicative();
  readonly #factor = () => this.#unary();

  constructor(text: string, sugar: boolean) {
    this.#at = new Cursor(text);
    this.#sugar = sugar;
  }

  parse(): Expression {
    if (skipSpaceAndComments(this.#at.text, 0) === this.#at.text.length) return EVERYTHING;
    const condition = this.#condition(this.#or());
    this.#at.expectEnd();
    return condition;
  }

  #or(): Part {
    return this.#chain('OR', 'or', this.#conjunction);
  }

  #and(): Part {
    return this.#chain('AND', 'and', this.#negation);
  }

  #chain(keyword: 'AND' | 'OR', kind: 'and' | 'or', operand: () => Part): Part {
    const first = operand();
    if (!this.#at.atKeyword(keyword)) return first;
    const operands = [this.#condition(first)];
    while (this.#at.takeKeyword(keyword)) operands.push(this.#condition(operand()));
    return { node: Object.freeze({ kind, operands: Object.freeze(operands) }), start: first.start };
  }

  #not(): Part {
    // A term may hold what is no token (`"a b"`), so it is looked for before the scanner is asked.
    const term = this.#term();
    if (term !== null) return this.#comparison(term);
    const token = this.#at.peek();
    if (!this.#at.takeKeyword('NOT')) return this.#comparison(this.#additive());
    return this.#nested(token.start, () => ({
      node: Object.freeze({ kind: 'not', operand: this.#condition(this.#not()) }),
      start: token.start,
    }));
  }

  #term(): Part | null {
    if (!this.#sugar || this.#operands > 0) return null;
    const term = scanTerm(this.#at.text, this.#at.position);
    if (term !== null) this.#at.moveTo(term.end);
    return term;
  }

  #comparison(left: Part): Part {
    const operator = this.#at.takeOneOf(COMPARATORS);
    if (operator !== null) return this.#compare(left, operator);
    const token = this.#at.peek();
    if (token.kind !== 'keyword') return left;
    if (this.#at.takeKeyword('IS')) {
      const negated = this.#at.takeKeyword('NOT');
      this.#at.expectKeyword('NULL', 'Write IS NULL or IS NOT NULL.');
      return this.#made(left, { kind: 'null', value: this.#value(left), negated });
    }
    // A NOT that starts a new term has no place here either: what is meant is NOT LIKE, NOT IN or NOT BETWEEN.
    const negated = this.#at.takeKeyword('NOT');
    if (this.#at.takeKeyword('LIKE')) return this.#like(left, negated);
    if (this.#at.takeKeyword('BETWEEN')) return this.#between(left, negated);
    if (this.#at.takeKeyword('IN')) return this.#in(left, negated);
    if (negated) throw this.#at.expected('LIKE, IN or BETWEEN after NOT', 'Is AND or OR missing before NOT?');
    return left;
  }

  #made(left: Part, node: Condition): Part {
    return { node: Object.freeze(node), start: left.start };
  }

  #compare(left: Part, operator: Comparator): Part {
    const { start } = this.#at.peek();
    const right = this.#operand();
    if (left.node.kind === 'attribute' && right.node.kind === 'attribute' && this.#at.text[start] === '"') {
      const { name } = right.node;
      throw new SelectorError(
        start,
        'text stands in single quotes',
        `Write '${name.replaceAll("'", "''")}', or ${this.#at.text.slice(start, this.#at.position)} in parentheses for the attribute.`,
      );
    }
    const values = [this.#value(left), this.#value(right)] as const;
    const text = values.find((value) => value.kind === 'literal' && typeof value.value !== 'number');
    if (text !== undefined && operator !== '=' && operator !== '<>') {
      throw new SelectorError(
        left.start,
        `'${operator}' compares numbers only`,
        'Text and booleans are compared with = and <>, text also with LIKE.',
      );
    }
    return this.#made(left, { kind: 'comparison', operator, left: values[0], right: values[1] });
  }

  #like(left: Part, negated: boolean): Part {
    const value = this.#value(left);
    const { start } = this.#at.peek();
    const pattern = this.#at.takeString("LIKE takes a pattern in single quotes: name LIKE 'web%'.");
    if (pattern.length > LIMITS.patternLength) {
      throw new SelectorError(start, `the pattern is longer than ${LIMITS.patternLength}`, 'Shorten it.');
    }
    let escapeCharacter: string | null = null;
    if (this.#at.takeKeyword('ESCAPE')) {
      const escapeAt = this.#at.peek().start;
      escapeCharacter = this.#at.takeString("ESCAPE takes one character in single quotes: ESCAPE '\\'.");
      checkEscape(pattern, escapeCharacter, start, escapeAt);
    }
    return this.#made(left, { kind: 'like', value, pattern, escape: escapeCharacter, negated });
  }

  #between(left: Part, negated: boolean): Part {
    const value = this.#value(left);
    const low = this.#value(this.#operand());
    this.#at.expectKeyword('AND', 'Write cpus BETWEEN 8 AND 16.');
    const high = this.#value(this.#operand());
    return this.#made(left, { kind: 'between', value, low, high, negated });
  }

  #in(left: Part, negated: boolean): Part {
    const value = this.#value(left);
    const hint = "Write role IN ('web', 'db').";
    this.#at.expectOperator('(', hint);
    const options: Scalar[] = [];
    do {
      const { start } = this.#at.peek();
      if (options.length === LIMITS.inList) {
        throw new SelectorError(start, `more than ${LIMITS.inList} values in IN`, 'Split the list with OR.');
      }
      options.push(this.#literal(hint));
    } while (this.#at.takeOperator(','));
    this.#at.expectOperator(')', hint);
    return this.#made(left, { kind: 'in', value, options: Object.freeze(options), negated });
  }

  #literal(hint: string): Scalar {
    const sign = this.#at.takeOneOf(SIGNS);
    const token = this.#at.peek();
    if (token.kind === 'number') {
      this.#at.next();
      return sign === '-' ? minus(token.value) : token.value;
    }
    if (sign !== null) throw this.#at.expected('a number', hint);
    if (token.kind === 'string') return this.#at.takeString(hint);
    if (this.#at.takeKeyword('TRUE')) return true;
    if (this.#at.takeKeyword('FALSE')) return false;
    throw this.#at.expected('a value', hint);
  }

  /** The right side of an operator. */
  #operand(): Part {
    return this.#asOperand(this.#sum);
  }

  #asOperand(parse: () => Part): Part {
    this.#operands += 1;
    const part = parse();
    this.#operands -= 1;
    return part;
  }

  #additive(): Part {
    return this.#arithmeticChain(SIGNS, this.#product);
  }

  #multiplicative(): Part {
    return this.#arithmeticChain(FACTORS, this.#factor);
  }

  #arithmeticChain(operators: readonly Arithmetic['operator'][], operand: () => Part): Part {
    let left = operand();
    for (;;) {
      const { start } = this.#at.peek();
      const operator = this.#at.takeOneOf(operators);
      if (operator === null) return left;
      this.#arithmetic += 1;
      if (this.#arithmetic > LIMITS.arithmeticOperators) {
        throw new SelectorError(start, `more than ${LIMITS.arithmeticOperators} operators`, 'Compute it beforehand.');
      }
      const right = this.#asOperand(operand);
      const node = { kind: 'arithmetic', operator, left: this.#number(left), right: this.#number(right) } as const;
      left = { node: Object.freeze(node), start: left.start };
    }
  }

  #unary(): Part {
    const { start } = this.#at.peek();
    const sign = this.#at.takeOneOf(SIGNS);
    if (sign === null) return this.#primary();
    const token = this.#at.peek();
    if (token.kind === 'number') {
      this.#at.next();
      return { node: literal(sign === '-' ? minus(token.value) : token.value), start };
    }
    const operand = this.#nested(start, () => this.#asOperand(this.#factor));
    const value = this.#number(operand);
    return { node: sign === '-' ? Object.freeze({ kind: 'negate', operand: value }) : value, start };
  }

  #primary(): Part {
    const token = this.#at.peek();
    const { start } = token;
    switch (token.kind) {
      case 'identifier':
        this.#at.next();
        return { node: Object.freeze({ kind: 'attribute', name: token.name }), start };
      case 'string':
      case 'number':
        this.#at.next();
        return { node: literal(token.value), start };
      case 'keyword':
        if (token.keyword === 'NULL') {
          throw new SelectorError(start, 'NULL is not a value', 'Write IS NULL or IS NOT NULL.');
        }
        if (token.keyword !== 'TRUE' && token.keyword !== 'FALSE') break;
        this.#at.next();
        return { node: literal(token.keyword === 'TRUE'), start };
      case 'operator':
        if (!this.#at.takeOperator('(')) break;
        return this.#nested(start, () => {
          const inner = this.#or();
          this.#at.expectOperator(')', 'Close the parenthesis, or is AND or OR missing?');
          return { node: inner.node, start };
        });
      case 'end':
        break;
    }
    throw this.#at.expected('an attribute, a value or (', "A condition is written role = 'web'.");
  }

  #nested(start: number, parse: () => Part): Part {
    this.#depth += 1;
    if (this.#depth > LIMITS.nesting) {
      throw new SelectorError(start, `nested deeper than ${LIMITS.nesting}`, 'Remove parentheses that are not needed.');
    }
    const part = parse();
    this.#depth -= 1;
    return part;
  }

  #condition({ node, start }: Part): Condition {
    switch (node.kind) {
      case 'attribute':
        return this.#sugar ? match(NAME, node.name) : node;
      case 'literal':
        if (typeof node.value === 'boolean') return Object.freeze({ kind: 'literal', value: node.value });
        throw notCondition(start);
      case 'negate':
      case 'arithmetic':
        throw notCondition(start);
      default:
        return node;
    }
  }

  #value({ node, start }: Part): Value {
    switch (node.kind) {
      case 'attribute':
      case 'literal':
      case 'negate':
      case 'arithmetic':
        return node;
      default:
        throw new SelectorError(start, 'a condition is not a value', 'Combine conditions with AND, OR and NOT.');
    }
  }

  #number(part: Part): Value {
    const value = this.#value(part);
    if (value.kind === 'literal' && typeof value.value !== 'number') {
      throw new SelectorError(part.start, 'arithmetic takes numbers', 'Remove the quotes, or compare with =.');
    }
    return value;
  }
}

function notCondition(start: number): SelectorError {
  return new SelectorError(start, 'a value is not a condition', 'Compare it with something: cpus > 8.');
}

function literal(value: Scalar): Value {
  return Object.freeze({ kind: 'literal', value });
}

/** No negative zero: it prints, and compares, as 0. */
function minus(value: number): number {
  return value === 0 ? 0 : -value;
}
