import { type Condition, EVERYTHING, type Expression, type Scalar } from './expression.js';

/** Both hold. Everything adds nothing, and an AND inside is taken apart: `narrowed = and(allowed, asked)`. */
export function and(...expressions: readonly Expression[]): Expression {
  const operands = expressions
    .flatMap((each) => (each.kind === 'and' ? each.operands : [each]))
    .filter(({ kind }) => kind !== 'everything');
  return chain('and', operands, EVERYTHING);
}

/** At least one holds; of none at all, none does. */
export function or(...expressions: readonly Expression[]): Expression {
  const operands = expressions.flatMap((each) => (each.kind === 'or' ? each.operands : [each]));
  if (operands.some(({ kind }) => kind === 'everything')) return EVERYTHING;
  return chain('or', operands, Object.freeze({ kind: 'literal', value: false }));
}

/** `attribute = value` */
export function equal(attribute: string, value: Scalar): Expression {
  return Object.freeze({
    kind: 'comparison',
    operator: '=',
    left: Object.freeze({ kind: 'attribute', name: attribute }),
    right: Object.freeze({ kind: 'literal', value }),
  });
}

const ESCAPE = '!';

/** `attribute LIKE 'prefix%'`, the prefix being text and no pattern. */
export function startsWith(attribute: string, prefix: string): Expression {
  const escaped = prefix.replace(/[%_!]/g, `${ESCAPE}$&`);
  return Object.freeze({
    kind: 'like',
    value: Object.freeze({ kind: 'attribute', name: attribute }),
    pattern: `${escaped}%`,
    escape: escaped === prefix ? null : ESCAPE,
    negated: false,
  });
}

function chain(kind: 'and' | 'or', operands: readonly Condition[], none: Expression): Expression {
  const [first] = operands;
  if (first === undefined) return none;
  return operands.length === 1 ? first : Object.freeze({ kind, operands: Object.freeze(operands) });
}
