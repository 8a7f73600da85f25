import type { Comparison, Condition, Expression, Value } from './expression.js';

/**
 * A comparison of an attribute with another one where text may have been meant that only lacks its quotes: `role = web`.
 * It is a valid selector, and true for nothing that has no attribute `web`.
 */
export interface UnquotedText {
  readonly attribute: string;
  readonly operator: '=' | '<>';
  /** The attributes that stand on the right. */
  readonly names: readonly string[];
  /** What the right side is as text: `web-1` is two attributes, or an attribute and a number, and a subtraction. */
  readonly text: string;
}

/** Every such comparison, from left to right. */
export function unquotedTexts(expression: Expression): UnquotedText[] {
  const found: UnquotedText[] = [];
  look(expression, found);
  return found;
}

function look(node: Condition, found: UnquotedText[]): void {
  switch (node.kind) {
    case 'not':
      return look(node.operand, found);
    case 'and':
    case 'or':
      for (const operand of node.operands) look(operand, found);
      return;
    case 'comparison': {
      const one = unquoted(node);
      if (one !== null) found.push(one);
      return;
    }
    default:
      return;
  }
}

function unquoted({ operator, left, right }: Comparison): UnquotedText | null {
  if ((operator !== '=' && operator !== '<>') || left.kind !== 'attribute') return null;
  const names: string[] = [];
  const text = words(right, names);
  return text === null || names.length === 0 ? null : { attribute: left.name, operator, names, text };
}

/** Null: this cannot be text that lacks its quotes. */
function words(value: Value, names: string[]): string | null {
  switch (value.kind) {
    case 'attribute':
      names.push(value.name);
      return value.name;
    case 'literal':
      return typeof value.value === 'number' ? String(value.value) : null;
    case 'arithmetic': {
      if (value.operator !== '-') return null;
      const [left, right] = [words(value.left, names), words(value.right, names)];
      return left === null || right === null ? null : `${left}-${right}`;
    }
    case 'negate':
      return null;
  }
}
