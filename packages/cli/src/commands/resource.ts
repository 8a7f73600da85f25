import { type Command, Option } from 'commander';
import type { Query } from '../client.js';
import { MusterError } from '../errors.js';
import type { TableLook } from '../output.js';
import { confirm, isInteractive } from '../prompt.js';
import { type Call, type CommandText, clientCommand, does, type Shell } from '../shell.js';
import type { Cell } from '../table.js';

/**
 * What the commands of everything that a server keeps (groups, users, nodes, tokens …) have in common. Each gives one
 * JSON document with `--json`, else a table, lines of fields, or a line that says what was done; the exit code is 0, or
 * that of the error.
 */

/** By heading: what a row says of an item. */
export type Columns<Item> = Readonly<Record<string, (item: Item) => Cell>>;

type TextOfList = Omit<CommandText, 'usage'> & Partial<Pick<CommandText, 'usage'>>;

export interface Listing<Item, Flags extends object> extends TextOfList {
  readonly read: (call: Call<Flags>) => Promise<readonly Item[]>;
  readonly columns: Columns<Item>;
  /** The column that is painted by its meaning. */
  readonly status?: string;
  readonly look?: TableLook;
  /** Said when there are none. */
  readonly none?: string;
}

/** `list`, unless it is called otherwise. */
export function addList<Item, Flags extends object = object>(
  parent: Command,
  shell: Shell,
  { usage = 'list', read, columns, status, look, none, ...text }: Listing<Item, Flags>,
): Command {
  const command = clientCommand(parent, { usage, ...text });
  return does<Flags>(command, shell, async (call) => {
    const items = await read(call);
    call.out.document(items);
    tellTable(call, items, columns, status, look);
    if (none !== undefined && items.length === 0) call.out.note(none);
  });
}

export function tellTable<Item>(
  call: Call<object>,
  items: readonly Item[],
  columns: Columns<Item>,
  status?: string,
  look?: TableLook,
): void {
  const headings = Object.keys(columns);
  const rows = items.map((item) => Object.values(columns).map((cell) => cell(item)));
  call.out.table(headings, rows, status === undefined ? -1 : headings.indexOf(status), look);
}

export interface Showing<Item> extends CommandText {
  readonly read: (call: Call<object>, name: string) => Promise<Item>;
  readonly tell: (call: Call<object>, item: Item) => void;
}

/** `show <name>`. */
export function addShow<Item>(parent: Command, shell: Shell, { read, tell, ...text }: Showing<Item>): Command {
  return does<object>(clientCommand(parent, text), shell, async (call) => {
    const [name = ''] = call.args;
    tellItem(call, await read(call, name), tell);
  });
}

/** An item as its `show` tells it, for what creates or changes it, too. */
export function tellItem<Item>(call: Call<object>, item: Item, tell: Showing<Item>['tell']): void {
  call.out.document(item);
  if (!call.out.json) tell(call, item);
}

/** What was done, for programs and for people. */
export interface Done {
  readonly document: object;
  readonly line: string;
}

export interface Removal<Flags> extends CommandText {
  /** What is deleted. */
  readonly path: (call: Call<Flags>, ...args: string[]) => string;
  readonly query?: (flags: Flags) => Query;
  readonly done: (...args: string[]) => Done;
  /** Asked unless `--yes` is given, and refused where nobody can answer. `null` for what takes nothing away from anybody. */
  readonly question: ((...args: string[]) => string) | null;
  /** What is meant by the arguments, where they may be shortened. */
  readonly whole?: (call: Call<Flags>, ...args: string[]) => Promise<readonly string[]>;
  /** What goes with it, if anything; told before it is asked about and deleted. */
  readonly consequence?: (call: Call<Flags>, ...args: string[]) => Promise<string | null>;
}

/** `rm <name>`, and whatever else is a DELETE. */
export function addRemove<Flags extends object = object>(
  parent: Command,
  shell: Shell,
  { path, query, done, question, whole, consequence, ...text }: Removal<Flags>,
): Command {
  const command = clientCommand(parent, text);
  if (question !== null) command.option('-y, --yes', 'do not ask');
  return does<Flags & { readonly yes?: boolean }>(command, shell, async (call) => {
    const args = (await whole?.(call, ...call.args)) ?? call.args;
    const told = await consequence?.(call, ...args);
    if (typeof told === 'string') call.out.note(told);
    if (question !== null) await agreed(call, question(...args));
    await call.client.delete(path(call, ...args), query?.(call.options));
    tellDone(call, done(...args));
  });
}

export function tellDone(call: Call<object>, { document, line }: Done): void {
  call.out.document(document);
  call.out.line(line);
}

/** Of a command that never asks: a script need not know which ones do. */
export function unneededYes(): Option {
  return new Option('-y, --yes', 'changes nothing: it does not ask');
}

/** @throws MusterError `not_agreed`, `usage` where nobody can be asked */
export async function agreed({ world, options }: Call<{ readonly yes?: boolean }>, question: string): Promise<void> {
  if (options.yes === true) return;
  if (!isInteractive(world))
    throw new MusterError('usage', { reason: `nobody can be asked here, so give --yes: ${question}` });
  if (!(await confirm(world, question))) throw new MusterError('not_agreed');
}
