import { csvLine } from '@muster/base/csv';
import type { Command } from 'commander';
import type { NodeState } from '../../api.js';
import { MusterError } from '../../errors.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { timeText } from '../../summary.js';
import { type Columns, tellTable } from '../resource.js';
import { attributesOf, everyNode, type NodeDetail } from './detail.js';

interface ListFlags {
  readonly columns?: string;
  readonly sort?: string;
  readonly csv?: boolean;
}

/** What is known of a node besides its facts and labels. */
const OWN: Readonly<Record<string, (node: NodeDetail) => string>> = {
  name: (node) => node.node_name,
  status: (node) => node.status,
  availability: (node) => node.availability,
  since: (node) => timeText(node.owner_since),
  reason: (node) => node.reason,
  via: (node) => node.via,
  protocol: (node) => node.dialect ?? '',
  last_end: (node) => node.last_end ?? '',
};
/** Names of columns, besides those of facts and labels. */
export const NODE_COLUMNS = Object.keys(OWN);
const USUAL = ['name', 'status', 'availability', 'since', 'via', 'reason'];

/** Times are for programs there: with their zone. */
function readCsv(node: NodeDetail, name: string): string | number | boolean | undefined {
  return name === 'since' ? node.owner_since : read(node, name);
}

const COLUMNS: Columns<NodeState> = {
  'Node name': (node) => node.node_name,
  Status: (node) => node.status,
  Availability: (node) => node.availability,
  Since: (node) => timeText(node.owner_since),
  Reason: (node) => node.reason,
};

/** Where some have no agent, which. */
export function columnsFor(nodes: readonly NodeState[]): Columns<NodeState> {
  if (nodes.every(({ via }) => via !== 'ssh')) return COLUMNS;
  const { Reason, ...before } = COLUMNS as { readonly Reason: (node: NodeState) => string };
  return { ...before, Via: ({ via }) => via, Reason };
}

export function addNodeList(node: Command, shell: Shell): void {
  const command = clientCommand(node, {
    usage: 'list [query]',
    summary: 'every known node, or those that a query selects, and whether they take jobs',
    examples: [
      'muster node list',
      'muster node list --json',
      "muster node list 'env:prod' --columns name,role,distribution,memory --sort=-memory",
      'muster node list --columns name,ip,kernel --csv > nodes.csv',
    ],
  });
  command
    .option(
      '--columns <names>',
      `of ${NODE_COLUMNS.join(', ')}, and the names of facts and of labels, as \`node show\` tells them; separated by commas`,
    )
    .option('--sort <names>', 'by these; the greatest first where - stands before a name')
    .option(
      '--csv',
      'comma-separated values, with a line of names; text that a spreadsheet would take for a formula has an apostrophe before it',
    );
  does<ListFlags>(command, shell, async (call) => {
    const { columns, sort, csv } = call.options;
    const table = csv === true ? '--csv' : columns !== undefined ? '--columns' : null;
    if (table !== null && call.out.json) {
      throw new MusterError('usage', { reason: `give ${table} or --json, not both: JSON has all that is known` });
    }
    if ([...call.args, columns, sort].every((given) => given === undefined) && csv !== true) return states(call);
    const names = columns === undefined ? USUAL : namesOf('columns', columns);
    const nodes: NodeDetail[] = [];
    for await (const one of everyNode(call.client, call.args[0])) nodes.push(one);
    const sorting = sort === undefined ? [] : keysOf(sort);
    nodes.sort(order(sorting));
    call.out.document(nodes);
    const told = [...new Set([...(columns === undefined ? [] : names), ...sorting.map(({ name }) => name)])];
    const strange =
      nodes.length === 0 ? [] : told.filter((name) => nodes.every((one) => read(one, name) === undefined));
    if (strange.length > 0 && !call.out.json) {
      call.out.note(
        `no node that is listed has ${strange.join(', ')}: \`muster node show NAME\` tells the facts and labels of one`,
      );
    }
    if (csv === true) {
      const rows = nodes.map((node) => names.map((name) => readCsv(node, name) ?? ''));
      for (const row of [names, ...rows]) call.world.stdout.write(csvLine(row));
      return;
    }
    if (columns === undefined) return tellTable(call, nodes, columnsFor(nodes), 'Availability');
    const shown = Object.fromEntries(names.map((name) => [name, (node: NodeDetail) => String(read(node, name) ?? '')]));
    tellTable(call, nodes, shown, names.includes('availability') ? 'availability' : undefined);
  });
}

async function states(call: Call<ListFlags>): Promise<void> {
  const nodes = await call.client.get<NodeState[]>(call.client.inOrg('pushy', 'node_states'));
  call.out.document(nodes);
  tellTable(call, nodes, columnsFor(nodes), 'Availability');
  if (nodes.length === 0)
    call.out.note('no nodes yet: muster token create, then muster agent --enroll-file FILE on a host');
}

function namesOf(flag: string, text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.includes('')) throw new MusterError('usage', { reason: `--${flag}: a name is empty in '${text}'` });
  return names;
}

function read(node: NodeDetail, name: string): string | number | boolean | undefined {
  return OWN[name]?.(node) ?? attributesOf(node)[name];
}

interface SortKey {
  readonly name: string;
  /** -1: the greatest first. */
  readonly sign: number;
}

function keysOf(sort: string): SortKey[] {
  return namesOf('sort', sort).map((name) =>
    name.startsWith('-') ? { name: name.slice(1), sign: -1 } : { name, sign: 1 },
  );
}

/** Numbers as numbers; nodes that do not have it come last. */
function order(keys: readonly SortKey[]): (one: NodeDetail, other: NodeDetail) => number {
  return (one, other) => {
    for (const { name, sign } of keys) {
      const [left, right] = [read(one, name), read(other, name)];
      if (left === right) continue;
      if (left === undefined || right === undefined) return left === undefined ? 1 : -1;
      if (typeof left === 'number' && typeof right === 'number') return sign * (left - right);
      const compared = String(left).localeCompare(String(right));
      if (compared !== 0) return sign * compared;
    }
    return 0;
  };
}
