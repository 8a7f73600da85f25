import {
  and,
  type Comparison,
  type Condition,
  type Expression,
  equal,
  type In,
  likePrefix,
  or,
  startsWith,
  type Value,
} from '@muster/selector';
import { allows, allowsAll, mayAllow, mayAllowType, type OwnedTypes, type TypeRules } from '../../event/access.js';

/** The selector of all events that somebody with these rights may follow; null: none. */
export function allowedEvents(rules: TypeRules): Expression | null {
  const { owned = [] } = rules;
  const byType = allowedTypes(rules);
  if (owned.length === 0) return byType;
  return or(...(byType === null ? [] : [byType]), ...owned.map(ownedEvents));
}

/** The same of those that are allowed whosever they are. */
export function allowedTypes({ granted, restricted, open }: TypeRules): Expression | null {
  if (granted.length === 0 && open.length === 0) return null;
  const byDefault = restricted.length === 0 ? fitting(open) : and(fitting(open), not(fitting(restricted)));
  if (granted.length === 0) return byDefault;
  return open.length === 0 ? fitting(granted) : or(fitting(granted), byDefault);
}

/**
 * The types that a selector names, if none of them may be followed: such a SUBSCRIBE is refused, as it would never
 * deliver anything. A prefix ends in `*`. Null: the selector may match events of types that may be followed.
 */
export function deniedTypes(selector: Condition, rules: TypeRules): readonly string[] | null {
  switch (selector.kind) {
    case 'comparison':
    case 'in': {
      const types = namedTypes(selector);
      return types === null || types.some((type) => mayAllowType(rules, type)) ? null : types;
    }
    case 'like': {
      if (selector.negated || !isType(selector.value)) return null;
      const { text, whole } = likePrefix(selector.pattern, selector.escape);
      if (whole) return mayAllowType(rules, text) ? null : [text];
      return mayAllow(rules, text) ? null : [`${text}*`];
    }
    case 'and':
      for (const operand of selector.operands) {
        const denied = deniedTypes(operand, rules);
        if (denied !== null) return denied;
      }
      return null;
    case 'or': {
      const denied = selector.operands.map((operand) => deniedTypes(operand, rules));
      return denied.every((types) => types !== null) ? denied.flat() : null;
    }
    default:
      return null;
  }
}

/** Whether the selector also matches events of types that may not be followed, which will not be delivered. */
export function isNarrowed(selector: Condition, rules: TypeRules): boolean {
  switch (selector.kind) {
    case 'comparison':
    case 'in': {
      const types = namedTypes(selector);
      return types === null ? !allowsAll(rules, '') : types.some((type) => !allows(rules, type));
    }
    case 'like': {
      if (selector.negated || !isType(selector.value)) return !allowsAll(rules, '');
      const { text, whole } = likePrefix(selector.pattern, selector.escape);
      return whole ? !allows(rules, text) : !allowsAll(rules, text);
    }
    case 'and':
      return selector.operands.every((operand) => isNarrowed(operand, rules));
    case 'or':
      return selector.operands.some((operand) => isNarrowed(operand, rules));
    default:
      return !allowsAll(rules, '');
  }
}

/** The types that a condition names; null: it is not about types. */
function namedTypes(node: Comparison | In): readonly string[] | null {
  if (node.kind === 'in') {
    if (node.negated || !isType(node.value)) return null;
    return node.options.filter((option) => typeof option === 'string');
  }
  if (node.operator !== '=') return null;
  const sides = [node.left, node.right];
  const literal = sides.find((side) => side.kind === 'literal');
  return sides.some(isType) && typeof literal?.value === 'string' ? [literal.value] : null;
}

function isType(value: Value): boolean {
  return value.kind === 'attribute' && value.name === 'type';
}

function fitting(patterns: readonly string[]): Expression {
  return or(
    ...patterns.map((pattern) => (pattern.endsWith('*') ? prefixed(pattern.slice(0, -1)) : equal('type', pattern))),
  );
}

function ownedEvents({ pattern, attribute, value, restricted }: OwnedTypes): Expression {
  const own = and(fitting([pattern]), equal(attribute, value));
  return restricted.length === 0 ? own : and(own, not(fitting(restricted)));
}

/** A condition for the types that begin so; every event has a type, so that the empty prefix needs none. */
function prefixed(prefix: string): Expression {
  return prefix === '' ? and() : startsWith('type', prefix);
}

function not(operand: Condition): Expression {
  return { kind: 'not', operand };
}
