import type { Expression } from '@muster/selector';
import { MusterError } from '../../errors.js';
import type { Call } from '../../shell.js';
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

/** What a node can be named: as the server has it of all who have a key. */
export const NODE_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.:@-]{0,254}$/;

/**
 * `--node` takes several names, and so a query behind them.
 * @throws MusterError `usage` for what no node can be named
 */
export function checkNodeNames(names: readonly string[]): void {
  const stray = names.find((name) => !NODE_NAME.test(name));
  if (stray === undefined) return;
  if (readsAsQuery(stray)) throw queryAsName(stray);
  throw new MusterError('usage', {
    reason: `--node takes names of nodes, separated by blanks, which have letters, digits and _ . : @ -; not '${stray}'`,
  });
}

/** The same for what may be either, such as `role:web`, unless there is such a node. @throws MusterError `usage` */
export async function refuseQueryAsName(call: Call<object>, names: readonly string[]): Promise<void> {
  const nodes = names.filter(readsAsQuery);
  if (nodes.length === 0) return;
  const { refusals } = await call.client.post<{ refusals: readonly { node_name: string; why: string }[] }>(
    call.client.inOrg('pushy', 'jobs', 'preview'),
    { nodes },
  );
  const stray = refusals.find(({ why }) => why === 'unknown');
  if (stray !== undefined) throw queryAsName(stray.node_name);
}

function queryAsName(query: string): MusterError {
  return new MusterError('usage', { reason: `choose nodes in one way: the query '${query}', or --node` });
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
