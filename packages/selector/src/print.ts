import type { Bound, Comparison, Condition, Expression, Scalar, Value } from './expression.js';
import { isPlainName } from './scanner.js';

/** The text of a selector; parsing it (with sugar, if it has sugar nodes) gives the same tree. */
export function print(expression: Expression): string {
  return expression.kind === 'everything' ? '' : condition(expression);
}

function condition(node: Condition): string {
  switch (node.kind) {
    case 'everything':
      return '*:*';
    case 'literal':
      return scalar(node.value);
    case 'attribute':
      return name(node.name);
    case 'not':
      return `NOT ${inner(node.operand)}`;
    case 'and':
      return node.operands.map(inner).join(' AND ');
    case 'or':
      return node.operands.map(inner).join(' OR ');
    case 'comparison':
      return `${value(node.left)} ${node.operator} ${right(node)}`;
    case 'between':
      return `${value(node.value)}${not(node)} BETWEEN ${value(node.low)} AND ${value(node.high)}`;
    case 'in':
      return `${value(node.value)}${not(node)} IN (${node.options.map(scalar).join(', ')})`;
    case 'like': {
      const ending = node.escape === null ? '' : ` ESCAPE ${scalar(node.escape)}`;
      return `${value(node.value)}${not(node)} LIKE ${scalar(node.pattern)}${ending}`;
    }
    case 'null':
      return `${value(node.value)} IS${not(node)} NULL`;
    case 'match':
      return `${node.attribute}:${quoted(node.text)}`;
    case 'glob':
      return `${node.attribute}:${node.pattern}`;
    case 'range': {
      const [open, close] = [node.low?.inclusive === false ? '{' : '[', node.high?.inclusive === false ? '}' : ']'];
      return `${node.attribute}:${open}${bound(node.low)} TO ${bound(node.high)}${close}`;
    }
  }
}

function not(node: { readonly negated: boolean }): string {
  return node.negated ? ' NOT' : '';
}

/** AND, OR and NOT stand in parentheses inside each other: more than is needed, and never wrong. */
function inner(node: Condition): string {
  return node.kind === 'and' || node.kind === 'or' || node.kind === 'not' ? `(${condition(node)})` : condition(node);
}

function value(node: Value): string {
  switch (node.kind) {
    case 'literal':
      return scalar(node.value);
    case 'attribute':
      return name(node.name);
    case 'negate':
      return `-(${value(node.operand)})`;
    case 'arithmetic':
      return `(${value(node.left)} ${node.operator} ${value(node.right)})`;
  }
}

/** Beside an attribute, what stands in double quotes is taken for text by mistake, unless it is in parentheses. */
function right(of: Comparison): string {
  const text = value(of.right);
  return of.left.kind === 'attribute' && text.startsWith('"') ? `(${text})` : text;
}

function name(of: string): string {
  return isPlainName(of) ? of : `"${of.replaceAll('"', '""')}"`;
}

function scalar(of: Scalar): string {
  switch (typeof of) {
    case 'string':
      return `'${of.replaceAll("'", "''")}'`;
    case 'boolean':
      return of ? 'TRUE' : 'FALSE';
    default:
      return String(of);
  }
}

function bound(of: Bound | null): string {
  return of === null ? '*' : quoted(of.text);
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}
