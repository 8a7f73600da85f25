import { isIP } from 'node:net';
import type { Command } from 'commander';
import { Option } from 'commander';
import { clientCommand, does, type Shell } from '../shell.js';
import { attributesOf, everyNode, type NodeDetail } from './node/detail.js';

interface InventoryFlags {
  readonly list?: boolean;
  readonly host?: string;
}

/** Nodes are listed, or what selects them is. */
interface NodeGroup {
  readonly name: string;
  readonly nodes?: readonly string[];
  readonly query?: string | null;
}

/** Of Ansible's groups and variables. */
const NOT_IN_NAMES = /[^A-Za-z0-9_]/g;

/**
 * An inventory as Ansible asks a program for it: `--list`, `--host NAME`. A node's variables are its facts and labels, `muster_…`, and
 * `ansible_host`; groups are node groups, `up`, `available`, and one for each label and value.
 */
export function addInventory(program: Command, shell: Shell): void {
  const command = clientCommand(program, {
    usage: 'inventory [query]',
    summary: 'nodes as an inventory for Ansible, which takes it from a program: a script that runs this',
    examples: ['muster inventory', "muster inventory 'env:prod AND status:up'", 'muster inventory --host web1'],
  });
  command
    .addOption(new Option('--ansible', 'for Ansible, as without it').default(true))
    .option('--list', 'all of it, as without it')
    .option('--host <name>', 'the variables of one node');
  does<InventoryFlags>(command, shell, async ({ client, options, args, world }) => {
    const write = (value: unknown) => void world.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
    if (options.host !== undefined) {
      write(variables(await client.get<NodeDetail>(client.inOrg('nodes', options.host))));
      return;
    }
    const hosts = new Map<string, object>();
    const groups = new Map<string, Set<string>>();
    const join = (group: string, host: string): void => {
      const name = group.replaceAll(NOT_IN_NAMES, '_');
      const members = groups.get(name);
      if (members === undefined) groups.set(name, new Set([host]));
      else members.add(host);
    };
    for await (const node of everyNode(client, args[0])) {
      const { node_name: host } = node;
      hosts.set(host, variables(node));
      for (const state of [node.status, node.availability]) join(state, host);
      for (const [label, value] of Object.entries(node.labels)) join(`${label}_${value}`, host);
    }
    for (const { name, nodes = [], query } of await client.get<NodeGroup[]>(client.inOrg('node_groups'))) {
      const members = typeof query === 'string' ? everyNode(client, query) : nodes.map((node) => ({ node_name: node }));
      for await (const { node_name: host } of members) if (hosts.has(host)) join(name, host);
    }
    const shown = [...groups].map(([name, members]) => [name, { hosts: [...members] }] as const);
    write({ ...Object.fromEntries(shown), _meta: { hostvars: Object.fromEntries(hosts) } });
  });
}

/** Where a template of Jinja begins. */
const TEMPLATE = /\{[{%#]/;

/** What nodes say of themselves is no address but an address: others could be options of ssh. */
function variables(node: NodeDetail): object {
  const { ip } = node.facts;
  const own = Object.entries(attributesOf(node)).map(([name, value]) => [`muster_${name}`, asText(value)] as const);
  return { ...(isIP(String(ip)) !== 0 && { ansible_host: ip }), ...Object.fromEntries(own) };
}

/** Ansible runs templates that it finds in variables, on the machine that it runs on; what a node says must not be one. */
function asText(value: unknown): unknown {
  if (typeof value === 'string') return TEMPLATE.test(value) ? { __ansible_unsafe: value } : value;
  if (Array.isArray(value)) return value.map(asText);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, asText(inner)]));
}
