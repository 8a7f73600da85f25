import { and, type Condition, type Expression, equal, or, startsWith } from '@muster/selector';
import { allows, type TypeRules } from '../access.js';

/** What events must be like for somebody to follow them; null: there are none. */
export function allowedTypes(rules: TypeRules): Expression | null {
  const { granted, restricted, open } = rules;
  if (granted.length === 0 && open.length === 0) return null;
  const byDefault = restricted.length === 0 ? fitting(open) : and(fitting(open), not(fitting(restricted)));
  if (granted.length === 0) return byDefault;
  return open.length === 0 ? fitting(granted) : or(fitting(granted), byDefault);
}

/**
 * The types that a selector asks for by name, so that who asks only for what is denied is told so, instead of hearing
 * nothing for ever. Null: it asks for others, too.
 */
export function deniedTypes(selector: Expression, rules: TypeRules): readonly string[] | null {
  const named = namedTypes(selector);
  return named === null || named.some((type) => allows(rules, type)) ? null : named;
}

function fitting(patterns: readonly string[]): Expression {
  return or(
    ...patterns.map((pattern) => (pattern.endsWith('*') ? prefixed(pattern.slice(0, -1)) : equal('type', pattern))),
  );
}

/** Every event has a type. */
function prefixed(prefix: string): Expression {
  return prefix === '' ? and() : startsWith('type', prefix);
}

function not(operand: Condition): Expression {
  return { kind: 'not', operand };
}

/** Null: it can match other types. */
function namedTypes(node: Condition): readonly string[] | null {
  switch (node.kind) {
    case 'comparison': {
      if (node.operator !== '=') return null;
      const sides = [node.left, node.right];
      const literal = sides.find((side) => side.kind === 'literal');
      const named = sides.some((side) => side.kind === 'attribute' && side.name === 'type');
      return named && typeof literal?.value === 'string' ? [literal.value] : null;
    }
    case 'in': {
      if (node.negated || node.value.kind !== 'attribute' || node.value.name !== 'type') return null;
      return node.options.filter((option) => typeof option === 'string');
    }
    case 'and':
      for (const operand of node.operands) {
        const named = namedTypes(operand);
        if (named !== null) return named;
      }
      return null;
    case 'or': {
      const named = node.operands.map(namedTypes);
      return named.every((types) => types !== null) ? named.flat() : null;
    }
    default:
      return null;
  }
}

/** What may be published, remembered for the types that were asked for. */
export class PublishRights {
  readonly #rules: TypeRules;
  readonly #known = new Map<string, boolean>();

  constructor(rules: TypeRules) {
    this.#rules = rules;
  }

  allow(type: string): boolean {
    let allowed = this.#known.get(type);
    if (allowed === undefined) {
      allowed = allows(this.#rules, type);
      if (this.#known.size >= KNOWN_TYPES) this.#known.clear();
      this.#known.set(type, allowed);
    }
    return allowed;
  }
}

const KNOWN_TYPES = 1000;
