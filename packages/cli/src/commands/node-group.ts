import { MusterError } from '@muster/wire';
import type { Command } from 'commander';
import { type Call, clientCommand, collect, does, type Shell, subcommand } from '../shell.js';

interface Grants {
  readonly users: readonly string[];
  readonly clients: readonly string[];
  readonly groups: readonly string[];
}

interface NodeGroup {
  readonly name: string;
  readonly nodes?: readonly string[];
  readonly query?: string | null;
  readonly execute: Grants;
}

interface MemberFlags {
  readonly node?: readonly string[];
  readonly query?: string;
}

interface GrantFlags {
  readonly user?: readonly string[];
  readonly client?: readonly string[];
  readonly group?: readonly string[];
  readonly revoke?: boolean;
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
  addReading(group, shell);
  addGrant(group, shell);
  const remove = clientCommand(group, {
    usage: 'rm <name>',
    summary: 'delete a node group; its nodes remain',
    examples: ['muster node-group rm canaries'],
  });
  does<object>(remove, shell, async (call) => {
    const [name = ''] = call.args;
    await call.client.delete(call.client.inOrg('node_groups', name));
    call.out.document({ name, deleted: true });
    call.out.line(`deleted node group ${name}`);
  });
}

interface Setting {
  readonly usage: string;
  readonly summary: string;
  readonly examples: readonly string[];
  readonly existing: boolean;
}

function addSetting(parent: Command, shell: Shell, { existing, ...text }: Setting): void {
  const command = clientCommand(parent, text)
    .option('--node <name...>', 'these nodes')
    .option('--query <query>', 'whatever nodes match at the time');
  does<MemberFlags>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const { node, query } = call.options;
    if ((node === undefined) === (query === undefined)) {
      throw new MusterError('usage', { reason: 'give either --node NAME... or --query QUERY' });
    }
    const before = await all(call).then((groups) => groups.find((one) => one.name === name));
    if (!existing && before !== undefined) throw new MusterError('already_exists', { kind: 'node group', name });
    if (existing && before === undefined) throw new MusterError('not_found', { kind: 'node group', name });
    tell(
      call,
      await put(call, name, { ...(query === undefined ? { nodes: node } : { query }), execute: before?.execute }),
    );
  });
}

function addReading(parent: Command, shell: Shell): void {
  const list = clientCommand(parent, {
    usage: 'list',
    summary: 'node groups of the organization',
    examples: ['muster node-group list'],
  });
  does<object>(list, shell, async (call) => {
    const groups = await all(call);
    call.out.document(groups);
    call.out.table(
      ['Node group', 'Nodes', 'Restricted to'],
      groups.map((one) => [one.name, membersText(one), granted(one.execute)]),
    );
  });
  const show = clientCommand(parent, {
    usage: 'show <name>',
    summary: 'a node group and who may run commands on it',
    examples: ['muster node-group show web'],
  });
  does<object>(show, shell, async (call) => {
    const [name = ''] = call.args;
    tell(call, await call.client.get<NodeGroup>(call.client.inOrg('node_groups', name)));
  });
}

function addGrant(parent: Command, shell: Shell): void {
  const command = clientCommand(parent, {
    usage: 'grant <name>',
    summary: 'let only these run commands on the nodes of the group',
    examples: ['muster node-group grant prod-db --group dba', 'muster node-group grant prod-db --user alice --revoke'],
  });
  command
    .option('--user <name>', 'a user; may be repeated', collect)
    .option('--client <name>', 'a node or service; may be repeated', collect)
    .option('--group <name>', 'a group; may be repeated', collect)
    .option('--revoke', 'take the right away instead');
  does<GrantFlags>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const before = await call.client.get<NodeGroup>(call.client.inOrg('node_groups', name));
    const { user = [], client = [], group = [], revoke = false } = call.options;
    if (user.length + client.length + group.length === 0) {
      throw new MusterError('usage', { reason: 'give --user, --client or --group' });
    }
    const change = (have: readonly string[], named: readonly string[]) =>
      revoke ? have.filter((one) => !named.includes(one)) : [...new Set([...have, ...named])];
    const execute = {
      users: change(before.execute.users, user),
      clients: change(before.execute.clients, client),
      groups: change(before.execute.groups, group),
    };
    const query = before.query ?? undefined;
    tell(
      call,
      await put(call, name, { ...(query === undefined ? { nodes: before.nodes ?? [] } : { query }), execute }),
    );
  });
}

function all(call: Call<object>): Promise<NodeGroup[]> {
  return call.client.get<NodeGroup[]>(call.client.inOrg('node_groups'));
}

function put(call: Call<object>, name: string, body: object): Promise<NodeGroup> {
  return call.client.put<NodeGroup>(call.client.inOrg('node_groups', name), body);
}

function tell(call: Call<object>, group: NodeGroup): void {
  call.out.document(group);
  call.out.line(`Node group     ${group.name}`);
  call.out.line(`Nodes          ${membersText(group)}`);
  call.out.line(`Restricted to  ${granted(group.execute)}`);
}

function membersText(group: NodeGroup): string {
  if (group.query !== undefined && group.query !== null) return `matching ${group.query}`;
  return (group.nodes ?? []).join(' ') || 'none';
}

function granted({ users, clients, groups }: Grants): string {
  const named = [...users, ...clients, ...groups.map((name) => `group ${name}`)];
  return named.length === 0 ? 'nobody in particular' : named.join(', ');
}
