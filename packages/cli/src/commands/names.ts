import type { Command } from 'commander';
import { MusterError } from '../errors.js';
import type { Output } from '../output.js';
import { collect } from '../shell.js';

/** Who belongs to a group, or to whom something is granted. Clients are nodes and services. */
export interface Names {
  readonly users: readonly string[];
  readonly clients: readonly string[];
  readonly groups: readonly string[];
}

export interface NameFlags {
  readonly user?: readonly string[];
  readonly client?: readonly string[];
  readonly group?: readonly string[];
}

export function withNames(command: Command, group = 'a group; may be repeated'): Command {
  return command
    .option('--user <name>', 'a user; may be repeated', collect)
    .option('--client <name>', 'a node or service; may be repeated', collect)
    .option('--group <name>', group, collect);
}

export function namesOf({ user = [], client = [], group = [] }: NameFlags): Names {
  return { users: user, clients: client, groups: group };
}

/** @throws MusterError `usage` when there are none */
export function someNames(flags: NameFlags): Names {
  const names = namesOf(flags);
  if (isEmpty(names)) throw new MusterError('usage', { reason: 'give --user, --client or --group' });
  return names;
}

export function isEmpty({ users, clients, groups }: Names): boolean {
  return users.length + clients.length + groups.length === 0;
}

/** Each name once. */
export function plus(before: Names, more: Names): Names {
  return each((kind) => [...new Set([...before[kind], ...more[kind]])]);
}

export function minus(before: Names, fewer: Names): Names {
  return each((kind) => before[kind].filter((name) => !fewer[kind].includes(name)));
}

function each(list: (kind: keyof Names) => readonly string[]): Names {
  return { users: list('users'), clients: list('clients'), groups: list('groups') };
}

/** `alice, db1, group oncall`. */
export function namesText({ users, clients, groups }: Names, none: string): string {
  return [...users, ...clients, ...groups.map((name) => `group ${name}`)].join(', ') || none;
}

/** Names that nobody has, as the server tells them of a group or a grant that was stored. */
export interface Unknown {
  readonly unknown: Names;
}

/** They count once somebody has them, and may have been misspelt. */
export function warnOfUnknown(out: Pick<Output, 'note'>, { unknown }: Unknown): void {
  const kinds = [
    ['user', unknown.users],
    ['node or service', unknown.clients],
    ['group', unknown.groups],
  ] as const;
  for (const [kind, names] of kinds) {
    for (const name of names) out.note(`warning: there is no ${kind} '${name}' in this organization yet`);
  }
}
