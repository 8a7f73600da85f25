import type { Command } from 'commander';
import { printable } from '../../printable.js';
import { type Call, clientCommand, does, type Shell, subcommand } from '../../shell.js';
import { timeText } from '../../summary.js';
import { addCreate, addKeyCommands } from '../keys.js';
import { addRemove, addShow, tellTable } from '../resource.js';
import { warnOfUnquoted } from '../unquoted.js';
import type { Attributes, NodeDetail, SearchResult } from './detail.js';
import { addHistory } from './history.js';
import { addNodeList, columnsFor } from './list.js';

export function addNode(program: Command, shell: Shell): void {
  const node = subcommand(program, {
    usage: 'node',
    summary: 'managed machines',
    examples: ['muster node list', 'muster node why web1'],
  });
  addCreate(node, shell, {
    usage: 'create <name>',
    summary: 'register a node that brings its own key; agents enrol by themselves instead',
    examples: ['muster node create web1 --public-key web1.pub', 'muster node create web1 --key-out web1.pem'],
    kind: 'node',
    path: ({ client }) => client.inOrg('nodes'),
  });
  addNodeList(node, shell);
  addShow<NodeDetail>(node, shell, {
    usage: 'show <name>',
    summary: 'a node with its facts, its labels and what it allows to be run',
    examples: ['muster node show web1'],
    read: ({ client }, name) => client.get(client.inOrg('nodes', name)),
    tell,
  });
  addSearch(node, shell);
  addShow<{ readonly explanation: string }>(node, shell, {
    usage: 'why <name>',
    summary: 'why a node is or is not available, in one paragraph',
    examples: ['muster node why web1'],
    read: ({ client }, name) => client.get(client.inOrg('nodes', name, 'why')),
    tell: ({ out }, { explanation }) => out.line(explanation),
  });
  addHistory(node, shell);
  addRemove<{ readonly force?: boolean }>(node, shell, {
    usage: 'rm <name>',
    summary: 'forget a node and its key',
    examples: ['muster node rm web1', 'muster node rm web1 --yes', 'muster node rm web1 --force'],
    path: ({ client }, name = '') => client.inOrg('nodes', name),
    query: ({ force }) => (force === true ? { force } : {}),
    done: (name) => ({ document: { node_name: name, deleted: true }, line: `deleted node ${name}` }),
    question: (name) => `Forget node ${name} and its key? Its agent then has to enrol again.`,
  }).option('--force', 'even while it runs a job');
  addKeyCommands(node, shell, {
    kind: 'node',
    name: 'web1',
    path: (call, ...names) => call.client.inOrg('nodes', ...names),
  });
}

function tell(call: Call<object>, found: NodeDetail): void {
  call.out.fields([
    ['Node', found.node_name],
    ['Status', `${found.status}, ${found.availability}`],
    ['Since', timeText(found.owner_since)],
    ['Reason', found.reason],
    ['Agent', found.via === 'ssh' ? 'none: over ssh (muster ssh-node show)' : 'its own'],
    ['Protocol', found.dialect ?? '-'],
    ['Incarnation', found.incarnation ?? '-'],
    ['Last end', found.last_end ?? '-'],
  ]);
  attributes(call, 'Facts', found.facts);
  attributes(call, 'Labels', found.labels);
  commands(call, found);
}

function commands({ out }: Call<object>, { commands: told, via }: NodeDetail): void {
  out.line();
  out.line('Commands');
  if (told === undefined) return out.line('  it does not tell what it allows');
  for (const { name, pattern } of told.list) {
    out.line(`  ${printable(pattern === null || name === `/${pattern}/` ? name : `${name}  (${pattern})`)}`);
  }
  if (told.omitted > 0) out.line(`  … and ${told.omitted} more, which it does not tell`);
  const besides = [
    ...(told.any ? ['whatever else is asked for'] : []),
    ...(told.scripts === 'any' ? ['scripts'] : told.scripts === 'signed' ? ['scripts that certain people signed'] : []),
    ...(told.uploads ? ['files put in certain places'] : []),
    ...(told.fetches ? ['certain files fetched'] : []),
  ];
  if (besides.length > 0) out.line(`  ${told.list.length > 0 ? 'also ' : ''}${besides.join(', ')}`);
  const none = told.list.length === 0 && besides.length === 0;
  if (via === 'agent') out.line(`  ${none ? 'none but' : 'and'} those built in: sleep, dummy_job, facts`);
  else if (none) out.line('  none');
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
    await warnOfUnquoted(call, q);
    const found = await call.client.get<SearchResult>(call.client.inOrg('nodes'), { q, limit: call.options.limit });
    call.out.document(found);
    tellTable(call, found.nodes, columnsFor(found.nodes), 'Availability');
    call.out.note(`${found.total} ${found.total === 1 ? 'node matches' : 'nodes match'}`);
  });
}
