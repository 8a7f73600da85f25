import { RULE_LIMITS } from './limits.js';

/** The text of attributes of an event. */
export interface Attributes {
  get(name: string): string | undefined;
}

/** An event lacks what a text names, or a text becomes too long. */
export class Unfilled extends Error {
  override readonly name = 'Unfilled';
}

const HOLE = /\{([A-Za-z_][A-Za-z0-9_.-]{0,127})\}/g;

/** `{name}` becomes that attribute of the event. Other braces stay. @throws Unfilled */
export function fill(text: string, attributes: Attributes): string {
  const filled = text.replace(HOLE, (_, name: string) => {
    const value = attributes.get(name);
    if (value === undefined) throw new Unfilled(`the event has no attribute ${name}`);
    return value;
  });
  if (filled.length > RULE_LIMITS.filled) {
    throw new Unfilled(`a text has ${filled.length} characters with its attributes, more than ${RULE_LIMITS.filled}`);
  }
  return filled;
}

/** Has it a brace that would stay? No name of a node has one. */
export function hasLooseBrace(text: string): boolean {
  return /[{}]/.test(text.replace(HOLE, ''));
}

/** Of the attributes that texts of a value name, those that there are. */
export function namedIn(value: unknown, attributes: Attributes): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [, name = ''] of JSON.stringify(value).matchAll(HOLE)) {
    const given = attributes.get(name);
    if (given !== undefined) found[name] = given;
  }
  return found;
}

/** The same in every text of a value, but for names of fields. @throws Unfilled */
export function fillAll(value: unknown, attributes: Attributes): unknown {
  if (typeof value === 'string') return fill(value, attributes);
  if (Array.isArray(value)) return value.map((one) => fillAll(one, attributes));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, fillAll(inner, attributes)]));
}
