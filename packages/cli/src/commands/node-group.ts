import type { Command } from 'commander';
import { MusterError } from '../errors.js';
import { printable } from '../printable.js';
import { type Call, type CommandText, clientCommand, does, type Shell, subcommand } from '../shell.js';
import {
  isEmpty,
  minus,
  type NameFlags,
  type Names,
  namesText,
  plus,
  someNames,
  type Unknown,
  warnOfUnknown,
  withNames,
} from './names.js';
import { addList, addRemove, addShow, tellItem } from './resource.js';
import { warnOfUnquoted } from './unquoted.js';

interface NodeGroup {
  readonly name: string;
  readonly nodes?: readonly string[];
  readonly query?: string | null;
  readonly execute: Names;
}

interface MemberFlags {
  readonly node?: readonly string[];
  readonly query?: string;
}

export function addNodeGroup(program: Command, shell: Shell): void {
  const group = subcommand(program, {
    usage: 'node-group',
    summary: 'named sets of nodes, listed or selected, and who may run commands on them',
    examples: ["muster node-group create web --query 'role:web'", 'muster node-group grant web --group oncall'],
  });
  addSetting(group, shell, {
    usage: 'create <name>',
    summary: 'create a node group',
    examples: ['muster node-group create canaries --node web1 web2', "muster node-group create web --query 'role:web'"],
    existing: false,
  });
  addSetting(group, shell, {
    usage: 'set <name>',
    summary: 'change which nodes a group has',
    examples: ['muster node-group set canaries --node web1 web3'],
    existing: true,
  });
  addList<NodeGroup>(group, shell, {
    summary: 'node groups of the organization',
    examples: ['muster node-group list'],
    read: all,
    columns: { 'Node group': ({ name }) => name, Nodes: membersText, 'Run by': granted },
  });
  addShow(group, shell, {
    usage: 'show <name>',
    summary: 'a node group and who may run commands on it',
    examples: ['muster node-group show web'],
    read,
    tell,
  });
  addGrant(group, shell);
  addRemove(group, shell, {
    usage: 'rm <name>',
    summary: 'delete a node group; its nodes remain',
    examples: ['muster node-group rm canaries', 'muster node-group rm canaries --yes'],
    question: (name = '') => `Delete node group ${printable(name)}?`,
    path: ({ client }, name = '') => client.inOrg('node_groups', name),
    done: (name) => ({ document: { name, deleted: true }, line: `deleted node group ${name}` }),
  });
}

function addSetting(
  parent: Command,
  shell: Shell,
  { existing, ...text }: CommandText & { readonly existing: boolean },
): void {
  const command = clientCommand(parent, text)
    .option('--node <name...>', 'these nodes')
    .option('--query <query>', 'whatever nodes match at the time');
  does<MemberFlags>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const { node, query } = call.options;
    if ((node === undefined) === (query === undefined)) {
      throw new MusterError('usage', { reason: 'give either --node NAME... or --query QUERY' });
    }
    if (query !== undefined) await warnOfUnquoted(call, query);
    const before = (await all(call)).find((one) => one.name === name);
    if (!existing && before !== undefined) throw new MusterError('already_exists', { kind: 'node group', name });
    if (existing && before === undefined) throw new MusterError('not_found', { kind: 'node group', name });
    await put(call, name, { ...(query === undefined ? { nodes: node } : { query }), execute: before?.execute });
  });
}

function addGrant(parent: Command, shell: Shell): void {
  const command = clientCommand(parent, {
    usage: 'grant <name>',
    summary: 'let only these run commands on the nodes of the group',
    examples: ['muster node-group grant prod-db --group dba', 'muster node-group grant prod-db --user alice --revoke'],
  });
  withNames(command).option('--revoke', 'take the right away instead');
  does<NameFlags & { readonly revoke?: boolean }>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const before = await read(call, name);
    const named = someNames(call.options);
    const execute = call.options.revoke === true ? minus(before.execute, named) : plus(before.execute, named);
    const query = before.query ?? undefined;
    await put(call, name, { ...(query === undefined ? { nodes: before.nodes ?? [] } : { query }), execute });
    if (isEmpty(before.execute) && !isEmpty(execute)) {
      call.out.note('note: from now on nobody else runs commands on its nodes, admins neither');
    }
  });
}

function all({ client }: Call<object>): Promise<NodeGroup[]> {
  return client.get(client.inOrg('node_groups'));
}

function read({ client }: Call<object>, name: string): Promise<NodeGroup> {
  return client.get(client.inOrg('node_groups', name));
}

async function put(call: Call<object>, name: string, body: object): Promise<void> {
  const stored = await call.client.put<NodeGroup & Unknown>(call.client.inOrg('node_groups', name), body);
  tellItem(call, stored, tell);
  warnOfUnknown(call.out, stored);
}

function tell({ out }: Call<object>, group: NodeGroup): void {
  out.fields([
    ['Node group', group.name],
    ['Nodes', membersText(group)],
    ['Run by', granted(group)],
  ]);
}

function membersText({ query, nodes = [] }: NodeGroup): string {
  if (query !== undefined && query !== null) return `matching ${query}`;
  return nodes.join(' ') || 'none';
}

function granted({ execute }: NodeGroup): string {
  return namesText(execute, 'all who may start jobs');
}
