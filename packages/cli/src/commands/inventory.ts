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

/** Where the server finds a node without an agent. */
interface SshPlace {
  readonly node_name: string;
  readonly host: string;
  readonly port: number;
  readonly user: string;
}

/** Of Ansible's groups and variables. */
const NOT_IN_NAMES = /[^A-Za-z0-9_]/g;

/**
 * An inventory as Ansible asks a program for it: `--list`, `--host NAME`. A node's variables are its facts and labels, `muster_…`, and
 * `ansible_host`, of one without an agent with port and user; groups are node groups, `up`, `available`, and one for each label and value.
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
      const node = await client.get<NodeDetail>(client.inOrg('nodes', options.host));
      const place = node.via === 'ssh' ? await client.get<SshPlace>(client.inOrg('ssh-nodes', node.node_name)) : null;
      write(variables(node, place));
      return;
    }
    const hosts = new Map<string, object>();
    /** By name, once one of them is among the nodes. */
    let places: ReadonlyMap<string, SshPlace> | null = null;
    const placeOf = async ({ node_name: name, via }: NodeDetail): Promise<SshPlace | null> => {
      if (via !== 'ssh') return null;
      places ??= new Map(
        (await client.get<SshPlace[]>(client.inOrg('ssh-nodes'))).map((one) => [one.node_name, one] as const),
      );
      return places.get(name) ?? null;
    };
    const groups = new Map<string, Set<string>>();
    const join = (group: string, host: string): void => {
      const name = group.replaceAll(NOT_IN_NAMES, '_');
      const members = groups.get(name);
      if (members === undefined) groups.set(name, new Set([host]));
      else members.add(host);
    };
    for await (const node of everyNode(client, args[0])) {
      const { node_name: host } = node;
      hosts.set(host, variables(node, await placeOf(node)));
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

function variables(node: NodeDetail, place: SshPlace | null): object {
  const own = Object.entries(attributesOf(node)).map(([name, value]) => [`muster_${name}`, asText(value)] as const);
  return { ...addressOf(node, place), ...Object.fromEntries(own) };
}

/** What nodes say of themselves is no address but an address: others could be options of ssh. */
function addressOf({ facts: { ip } }: NodeDetail, place: SshPlace | null): object {
  if (place !== null) return { ansible_host: place.host, ansible_port: place.port, ansible_user: asText(place.user) };
  return isIP(String(ip)) === 0 ? {} : { ansible_host: ip };
}

/** Ansible runs templates that it finds in variables, on the machine that it runs on; what a node says must not be one. */
function asText(value: unknown): unknown {
  if (typeof value === 'string') return TEMPLATE.test(value) ? { __ansible_unsafe: value } : value;
  if (Array.isArray(value)) return value.map(asText);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, asText(inner)]));
}
