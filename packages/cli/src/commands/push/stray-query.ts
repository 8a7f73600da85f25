import type { Expression } from '@muster/selector';
import { MusterError } from '../../errors.js';
import { parsedQuery } from '../unquoted.js';

/**
 * Without `--`, and with the nodes chosen by `chosenBy`, all operands are the command: a query among them would be run, in
 * the place of what was meant to run on the nodes that it names.
 * @throws MusterError `usage` where the first one reads as a query
 */
export function refuseStrayQuery([first]: readonly string[], chosenBy: string): void {
  if (first === undefined || !readsAsQuery(first)) return;
  throw new MusterError('usage', {
    reason: `choose nodes in one way: the query '${first}', or ${chosenBy}; if '${first}' is the command, write it after --`,
  });
}

/** Also one with a mistake, as long as it begins with a term. A word alone is a command. */
function readsAsQuery(text: string): boolean {
  const expression = parsedQuery(text);
  if (expression !== null) return !isWord(expression, text);
  const [beginning = ''] = text.trim().split(/\s/, 1);
  const term = parsedQuery(beginning);
  return term !== null && isTerm(term) && !isWord(term, beginning);
}

/** `chef-client`, which as a query is the name of a node; `true`; nothing at all. */
function isWord(expression: Expression, text: string): boolean {
  if (text.trim() === '' || expression.kind === 'literal') return true;
  return expression.kind === 'match' && expression.text === text;
}

/** What only queries have; `COLOR=blue` begins commands of a shell, too. */
function isTerm({ kind }: Expression): boolean {
  return kind === 'match' || kind === 'glob' || kind === 'range' || kind === 'everything';
}
