import { attribute, type Data, dataOf, type LiveEvent, textIn } from './event.js';

/** The nodes of an organization, and what events make of them. Pure: what comes twice changes nothing. */

export const OWNERS = ['idle', 'job', 'rehab', 'down'] as const;
/** Whose a node is. */
export type Owner = (typeof OWNERS)[number];

export type Via = 'agent' | 'ssh';

export type Values = Readonly<Record<string, string | number | boolean>>;

export interface FleetNode {
  readonly name: string;
  readonly owner: Owner;
  /** The push job that owns it. */
  readonly job: string | null;
  /** Since when it has this owner, in milliseconds since the epoch. */
  readonly since: number;
  readonly reason: string;
  /** `ssh`: it has no agent, and the server runs commands there. */
  readonly via: Via;
  readonly dialect: string | null;
  readonly facts: Values;
  readonly labels: Values;
  /** Names of the commands that it says it allows; null: it does not tell. */
  readonly commands: readonly string[] | null;
}

export type Fleet = ReadonlyMap<string, FleetNode>;

/** As the server lists it. */
export interface ListedNode {
  readonly node_name: string;
  readonly owner: Owner;
  readonly owner_since: string;
  readonly job_id?: string;
  readonly reason: string;
  readonly via: Via;
  readonly dialect: string | null;
  readonly facts: Values;
  readonly labels: Values;
  readonly commands?: { readonly list: readonly { readonly name: string }[] };
}

export function fleetNode(node: ListedNode): FleetNode {
  return {
    name: node.node_name,
    owner: node.owner,
    job: node.job_id ?? null,
    since: Date.parse(node.owner_since),
    reason: node.reason,
    via: node.via,
    dialect: node.dialect,
    facts: node.facts,
    labels: node.labels,
    commands: node.commands?.list.map(({ name }) => name) ?? null,
  };
}

export function fleetOf(nodes: readonly ListedNode[]): Fleet {
  return new Map(nodes.map((node) => [node.node_name, fleetNode(node)]));
}

/** The fleet after these events. The same object when none of them concerns it. */
export function applyToFleet(fleet: Fleet, events: readonly LiveEvent[]): Fleet {
  let nodes: Map<string, FleetNode> | null = null;
  for (const event of events) {
    const name = attribute(event, 'node');
    if (name === null || !event.type.startsWith('node.')) continue;
    const before = (nodes ?? fleet).get(name);
    const after = step(before, name, event);
    if (after === before) continue;
    nodes ??= new Map(fleet);
    if (after === undefined) nodes.delete(name);
    else nodes.set(name, after);
  }
  return nodes ?? fleet;
}

function step(node: FleetNode | undefined, name: string, event: LiveEvent): FleetNode | undefined {
  switch (event.type) {
    case 'node.created':
      return node ?? unknownNode(name, event.at);
    case 'node.removed':
      return undefined;
    case 'node.up':
      return {
        ...moved(node ?? unknownNode(name, event.at), event, attribute(event, 'owner') ?? 'rehab'),
        via: viaOf(event),
      };
    case 'node.down':
      return { ...moved(node ?? unknownNode(name, event.at), event, 'down'), via: viaOf(event) };
    case 'node.owner':
      return moved(node ?? unknownNode(name, event.at), event, attribute(event, 'owner') ?? '');
    case 'node.facts': {
      const data = dataOf(event);
      return { ...(node ?? unknownNode(name, event.at)), facts: values(data, 'facts'), labels: values(data, 'labels') };
    }
    case 'node.commands':
      return node && { ...node, commands: commandsAfter(node.commands, dataOf(event)) };
    case 'node.protocol':
      return node && { ...node, dialect: attribute(event, 'dialect') };
    default:
      return node;
  }
}

function unknownNode(name: string, at: number): FleetNode {
  return {
    name,
    owner: 'down',
    job: null,
    since: at,
    reason: 'not heard yet',
    via: 'agent',
    dialect: null,
    facts: {},
    labels: {},
    commands: null,
  };
}

function viaOf(event: LiveEvent): Via {
  return attribute(event, 'via') === 'ssh' ? 'ssh' : 'agent';
}

function moved(node: FleetNode, event: LiveEvent, to: string): FleetNode {
  const owner = OWNERS.find((each) => each === to);
  if (owner === undefined) return node;
  const job = owner === 'job' ? attribute(event, 'job') : null;
  return { ...node, owner, job, since: event.at, reason: textIn(dataOf(event), 'reason') ?? node.reason };
}

/** The first 20 of what is new and what is gone are told; the rest comes with the next list. */
function commandsAfter(before: readonly string[] | null, data: Data): readonly string[] | null {
  if (data.commands === null) return null;
  const gone = new Set(texts(data.removed));
  const added = texts(data.added);
  return [...new Set([...(before ?? []).filter((name) => !gone.has(name)), ...added])];
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

function values(data: Data, name: string): Values {
  const found = data[name];
  return typeof found === 'object' && found !== null ? (found as Values) : {};
}

export type OwnerCounts = Readonly<Record<Owner, number>>;

export function countOwners(nodes: Iterable<FleetNode>): OwnerCounts {
  const counts = { idle: 0, job: 0, rehab: 0, down: 0 };
  for (const { owner } of nodes) counts[owner] += 1;
  return counts;
}

/** What selectors are evaluated against: as the server does it. */
export function attributesOf(node: FleetNode): Readonly<Record<string, string | number | boolean | readonly string[]>> {
  return {
    ...node.facts,
    ...node.labels,
    ...(node.dialect !== null && { dialect: node.dialect }),
    name: node.name,
    status: node.owner === 'down' ? 'down' : 'up',
    via: node.via,
    availability: node.owner === 'idle' ? 'available' : 'unavailable',
    ...(node.commands !== null && { command: node.commands }),
  };
}
