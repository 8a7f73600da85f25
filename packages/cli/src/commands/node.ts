import type { Command } from 'commander';
import type { NodeState } from '../api.js';
import { type KeyChoice, withPublicKey } from '../key-files.js';
import { printable } from '../printable.js';
import { type Call, clientCommand, does, type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';
import { addKeyCommands } from './keys.js';

type Attributes = Readonly<Record<string, string | number | boolean>>;

/** `GET …/nodes/NODE`. */
interface NodeDetail extends NodeState {
  readonly dialect: string | null;
  readonly incarnation: string | null;
  readonly last_end: string | null;
  readonly facts: Attributes;
  readonly labels: Attributes;
}

interface SearchResult {
  readonly total: number;
  readonly nodes: readonly NodeState[];
}

export function addNode(program: Command, shell: Shell): void {
  const node = subcommand(program, {
    usage: 'node',
    summary: 'managed machines',
    examples: ['muster node list', 'muster node why web1'],
  });
  addCreate(node, shell);
  addList(node, shell);
  addShow(node, shell);
  addSearch(node, shell);
  addWhy(node, shell);
  addRemove(node, shell);
  addKeyCommands(node, shell, {
    kind: 'node',
    name: 'web1',
    path: (call, ...names) => call.client.inOrg('nodes', ...names),
  });
}

function addCreate(node: Command, shell: Shell): void {
  const command = clientCommand(node, {
    usage: 'create <name>',
    summary: 'register a node that brings its own key; agents enrol by themselves instead',
    examples: ['muster node create web1 --public-key web1.pub', 'muster node create web1 --key-out web1.pem'],
  });
  command
    .option('--public-key <file>', 'PEM file with its public key')
    .option('--key-out <file>', 'make a key pair and write the private key here');
  does<KeyChoice>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const created = await withPublicKey(call.world, call.options, (publicKey) =>
      call.client.post<object>(call.client.inOrg('nodes'), { name, public_key: publicKey }),
    );
    call.out.document(created);
    call.out.line(`created node ${name}`);
  });
}

function addList(node: Command, shell: Shell): void {
  const command = clientCommand(node, {
    usage: 'list',
    summary: 'every known node and whether it takes jobs',
    examples: ['muster node list', 'muster node list --json'],
  });
  does<object>(command, shell, async (call) => {
    const nodes = await call.client.get<NodeState[]>(call.client.inOrg('pushy', 'node_states'));
    call.out.document(nodes);
    nodeStates(call, nodes);
    if (nodes.length === 0)
      call.out.note('no nodes yet: muster token create, then muster agent --enroll TOKEN on a host');
  });
}

function nodeStates(call: Call<object>, nodes: readonly NodeState[]): void {
  call.out.table(
    ['Node name', 'Status', 'Availability', 'Since', 'Reason'],
    nodes.map((one) => [one.node_name, one.status, one.availability, timeText(one.owner_since), one.reason]),
    2,
  );
}

function addShow(node: Command, shell: Shell): void {
  const command = clientCommand(node, {
    usage: 'show <name>',
    summary: 'a node with its facts and labels',
    examples: ['muster node show web1'],
  });
  does<object>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const found = await call.client.get<NodeDetail>(call.client.inOrg('nodes', name));
    call.out.document(found);
    const rows: [string, string][] = [
      ['Node', found.node_name],
      ['Status', `${found.status}, ${found.availability}`],
      ['Since', timeText(found.owner_since)],
      ['Reason', found.reason],
      ['Protocol', found.dialect ?? '-'],
      ['Incarnation', found.incarnation ?? '-'],
      ['Last end', found.last_end ?? '-'],
    ];
    for (const [title, value] of rows) call.out.line(`${title.padEnd(12)} ${printable(value)}`);
    attributes(call, 'Facts', found.facts);
    attributes(call, 'Labels', found.labels);
  });
}

function attributes(call: Call<object>, title: string, values: Attributes): void {
  const names = Object.keys(values).sort();
  if (names.length === 0) return;
  call.out.line();
  call.out.line(title);
  const width = Math.max(...names.map((name) => name.length));
  for (const name of names) call.out.line(`  ${printable(name.padEnd(width))}  ${printable(String(values[name]))}`);
}

function addSearch(node: Command, shell: Shell): void {
  const command = clientCommand(node, {
    usage: 'search <query>',
    summary: 'nodes whose facts, labels or name match',
    examples: [
      "muster node search 'role:web AND os:linux'",
      "muster node search 'name:web* AND NOT env:prod'",
      `muster node search "cpus >= 8 AND env = 'prod'"`,
    ],
  });
  command.option('--limit <n>', 'show at most this many', Number, 100);
  does<{ readonly limit: number }>(command, shell, async (call) => {
    const [q = ''] = call.args;
    const found = await call.client.get<SearchResult>(call.client.inOrg('nodes'), { q, limit: call.options.limit });
    call.out.document(found);
    nodeStates(call, found.nodes);
    call.out.note(`${found.total} ${found.total === 1 ? 'node matches' : 'nodes match'}`);
  });
}

function addWhy(node: Command, shell: Shell): void {
  const command = clientCommand(node, {
    usage: 'why <name>',
    summary: 'why a node is or is not available, in one paragraph',
    examples: ['muster node why web1'],
  });
  does<object>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const why = await call.client.get<{ explanation: string }>(call.client.inOrg('nodes', name, 'why'));
    call.out.document(why);
    call.out.line(why.explanation);
  });
}

function addRemove(node: Command, shell: Shell): void {
  const command = clientCommand(node, {
    usage: 'rm <name>',
    summary: 'forget a node and its key',
    examples: ['muster node rm web1', 'muster node rm web1 --force'],
  });
  command.option('--force', 'even while it runs a job');
  does<{ readonly force?: boolean }>(command, shell, async (call) => {
    const [name = ''] = call.args;
    await call.client.delete(call.client.inOrg('nodes', name), call.options.force === true ? { force: true } : {});
    call.out.document({ node_name: name, deleted: true });
    call.out.line(`deleted node ${name}`);
  });
}
