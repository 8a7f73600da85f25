import {
  type Expression,
  parseSelector,
  print,
  SelectorError,
  type UnquotedText,
  unquotedTexts,
} from '@muster/selector';
import { MusterError } from '../errors.js';
import type { Call } from '../shell.js';

/** What such a comparison says, and what may have been meant. */
export function unquotedWarning(
  { attribute, operator, names, text }: UnquotedText,
  missing: readonly string[],
): string {
  const both = [attribute, ...names].map((name) => `'${name}'`).join(' and ');
  const nobody = missing.length === 0 ? '' : `, and no node has ${missing.map((name) => `'${name}'`).join(' or ')}`;
  return `warning: ${attribute} ${operator} ${text} compares the attributes ${both}${nobody}; for the text write ${attribute} ${operator} '${text}'`;
}

/**
 * Warns of a query that compares attributes where text without quotes may have been meant, unless nodes have the other
 * attribute as well: it would find nothing, without a word. A query with a mistake is left to the server to refuse.
 */
export async function warnOfUnquoted(call: Call<object>, query: string): Promise<void> {
  const expression = parsedQuery(query);
  if (expression === null) return;
  for (const found of unquotedTexts(expression)) {
    const missing = await missingAttributes(call, found.names);
    if (missing.length === 0) continue;
    const sugar = found.operator === '=' ? ` or ${found.attribute}:${found.text}` : '';
    call.out.note(`${unquotedWarning(found, missing)}${sugar}`);
  }
}

/** Null: it is none, or has a mistake. */
export function parsedQuery(query: string): Expression | null {
  try {
    return parseSelector(query, { sugar: true });
  } catch (error) {
    if (error instanceof SelectorError) return null;
    throw error;
  }
}

/** Those of `names` that are an attribute of no node. Who may not search nodes cannot know: then all of them. */
async function missingAttributes(call: Call<object>, names: readonly string[]): Promise<string[]> {
  const missing: string[] = [];
  for (const name of new Set(names)) {
    const q = print({ kind: 'null', value: { kind: 'attribute', name }, negated: true });
    try {
      const { total } = await call.client.get<{ readonly total: number }>(call.client.inOrg('nodes'), { q, limit: 1 });
      if (total === 0) missing.push(name);
    } catch (error) {
      if (!(error instanceof MusterError) || error.code !== 'forbidden') throw error;
      missing.push(name);
    }
  }
  return missing;
}
