import type { Condition, Scalar, Value } from './expression.js';

/** Looking at a selector before it is asked about anything. */

/** The conditions that all must hold. */
export function conjunction(expression: Condition): readonly Condition[] {
  if (expression.kind === 'everything') return [];
  return expression.kind === 'and' ? expression.operands.flatMap(conjunction) : [expression];
}

/** Names of the attributes that a selector asks about. */
export function attributesOf(expression: Condition): ReadonlySet<string> {
  const names = new Set<string>();
  collect(expression, (name) => void names.add(name));
  return names;
}

function collect(node: Condition | Value, add: (name: string) => void): void {
  switch (node.kind) {
    case 'attribute':
      return add(node.name);
    case 'match':
    case 'glob':
    case 'range':
      return add(node.attribute);
    case 'and':
    case 'or':
      for (const operand of node.operands) collect(operand, add);
      return;
    case 'not':
    case 'negate':
      return collect(node.operand, add);
    case 'comparison':
    case 'arithmetic':
      collect(node.left, add);
      return collect(node.right, add);
    case 'between':
      collect(node.value, add);
      collect(node.low, add);
      return collect(node.high, add);
    case 'in':
    case 'like':
    case 'null':
      return collect(node.value, add);
    case 'literal':
    case 'everything':
      return;
  }
}

/** Visits each value that an attribute is compared with to be equal or not; may put another condition in its place. */
export function replaceEqualities(
  node: Condition,
  replace: (attribute: string, values: readonly Scalar[]) => string,
): Condition {
  switch (node.kind) {
    case 'and':
    case 'or':
      return { ...node, operands: node.operands.map((operand) => replaceEqualities(operand, replace)) };
    case 'not':
      return { ...node, operand: replaceEqualities(node.operand, replace) };
    case 'match':
      return { ...node, attribute: replace(node.attribute, [node.text]) };
    case 'in': {
      const { value } = node;
      if (value.kind !== 'attribute') return node;
      return { ...node, value: { ...value, name: replace(value.name, node.options) } };
    }
    case 'comparison': {
      const { left, right, operator } = node;
      if (operator !== '=' && operator !== '<>') return node;
      if (left.kind === 'attribute' && right.kind === 'literal') {
        return { ...node, left: { ...left, name: replace(left.name, [right.value]) } };
      }
      if (right.kind === 'attribute' && left.kind === 'literal') {
        return { ...node, right: { ...right, name: replace(right.name, [left.value]) } };
      }
      return node;
    }
    default:
      return node;
  }
}

/** Values of which the one attribute of the condition must have one; null: it says something else. */
export function equalTo(condition: Condition): readonly Scalar[] | null {
  switch (condition.kind) {
    case 'match':
      return [condition.text];
    case 'comparison': {
      if (condition.operator !== '=') return null;
      const { left, right } = condition;
      if (left.kind === 'attribute' && right.kind === 'literal') return [right.value];
      return right.kind === 'attribute' && left.kind === 'literal' ? [left.value] : null;
    }
    case 'in':
      return condition.negated || condition.value.kind !== 'attribute' ? null : condition.options;
    default:
      return null;
  }
}
