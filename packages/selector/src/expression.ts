/** The tree of a selector: frozen nodes, told apart by `kind`. */

export type Scalar = string | number | boolean;

export interface Literal<T extends Scalar = Scalar> {
  readonly kind: 'literal';
  readonly value: T;
}

/** As a value: what the attribute is. As a condition: it is true. */
export interface Attribute {
  readonly kind: 'attribute';
  readonly name: string;
}

export interface Negate {
  readonly kind: 'negate';
  readonly operand: Value;
}

export interface Arithmetic {
  readonly kind: 'arithmetic';
  readonly operator: '+' | '-' | '*' | '/' | '%';
  readonly left: Value;
  readonly right: Value;
}

/** Yields a string, a number, a boolean or NULL. */
export type Value = Literal | Attribute | Negate | Arithmetic;

export type Comparator = '=' | '<>' | '<' | '<=' | '>' | '>=';

export interface Comparison {
  readonly kind: 'comparison';
  readonly operator: Comparator;
  readonly left: Value;
  readonly right: Value;
}

export interface Like {
  readonly kind: 'like';
  readonly value: Value;
  /** `%` any characters, `_` one. */
  readonly pattern: string;
  /** One character, or null. */
  readonly escape: string | null;
  readonly negated: boolean;
}

export interface Between {
  readonly kind: 'between';
  readonly value: Value;
  readonly low: Value;
  readonly high: Value;
  readonly negated: boolean;
}

export interface In {
  readonly kind: 'in';
  readonly value: Value;
  readonly options: readonly Scalar[];
  readonly negated: boolean;
}

export interface IsNull {
  readonly kind: 'null';
  readonly value: Value;
  readonly negated: boolean;
}

export interface Not {
  readonly kind: 'not';
  readonly operand: Condition;
}

export interface And {
  readonly kind: 'and';
  readonly operands: readonly Condition[];
}

export interface Or {
  readonly kind: 'or';
  readonly operands: readonly Condition[];
}

/** The empty selector, and `*:*`. */
export interface Everything {
  readonly kind: 'everything';
}

/** Sugar `role:web`: equal as text, or as numbers when both look like JSON numbers. */
export interface Match {
  readonly kind: 'match';
  readonly attribute: string;
  readonly text: string;
}

/** Sugar `name:web*`: `*` any characters, `?` one, `\` takes the next literally. */
export interface Glob {
  readonly kind: 'glob';
  readonly attribute: string;
  readonly pattern: string;
}

/** Sugar `cpus:[8 TO 16]` and `cpus:>8`; a null end is open. */
export interface Range {
  readonly kind: 'range';
  readonly attribute: string;
  readonly low: Bound | null;
  readonly high: Bound | null;
}

export interface Bound {
  readonly text: string;
  readonly inclusive: boolean;
}

/** Yields true, false or unknown. */
export type Condition =
  | Literal<boolean>
  | Attribute
  | Comparison
  | Like
  | Between
  | In
  | IsNull
  | Not
  | And
  | Or
  | Everything
  | Match
  | Glob
  | Range;

/** A whole selector. */
export type Expression = Condition;

export const EVERYTHING: Everything = Object.freeze({ kind: 'everything' });
