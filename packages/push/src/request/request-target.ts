import { MusterError } from '../errors.js';
import { MAX_GROUP_NAME_LENGTH, MAX_NODE_NAME_BYTES, MAX_SEARCH_LENGTH } from '../limits.js';
import type { PushJobNodeStatus } from '../types.js';
import { type Body, checkText, has, invalid, isObject, isStringList } from './fields.js';
import { isJobId } from './job-id.js';

/** How a request chooses its nodes; exactly one of these. */
export type Target =
  /** Each node once, in the order given. They need not be known. */
  | { readonly kind: 'nodes'; readonly nodes: readonly string[] }
  | { readonly kind: 'search'; readonly query: string }
  | { readonly kind: 'node_group'; readonly name: string }
  /** The nodes of an earlier job that ended so (Push Jobs §1.1). */
  | { readonly kind: 'from_job'; readonly jobId: string; readonly statuses: readonly PushJobNodeStatus[] };

export const TARGET_KEYS = ['nodes', 'search', 'node_group', 'from_job'] as const;

/** Row 2 of sheet §7.5, where `nodes` may be replaced by another way to choose. */
export function checkTargetTypes(body: Body): void {
  const ways = TARGET_KEYS.filter((key) => has(body, key));
  if (ways.length !== 1 || (has(body, 'nodes') && !isStringList(body.nodes))) throw new MusterError('invalid_nodes');
}

/** Row 8 of sheet §7.5. */
export function checkNodesGiven(body: Body): void {
  if (Array.isArray(body.nodes) && body.nodes.length === 0) throw new MusterError('invalid_nodes');
}

export function readTarget(body: Body, maxNodes: number): Target {
  const { nodes, search, node_group: group } = body;
  if (isStringList(nodes)) return { kind: 'nodes', nodes: readNodes(nodes, maxNodes) };
  if (has(body, 'search')) {
    if (typeof search !== 'string') throw invalid('search', 'must be a string');
    checkText('search', search, MAX_SEARCH_LENGTH);
    return { kind: 'search', query: search };
  }
  if (has(body, 'node_group')) {
    if (typeof group !== 'string' || group === '') throw invalid('node_group', 'must name a node group');
    checkText('node_group', group, MAX_GROUP_NAME_LENGTH);
    return { kind: 'node_group', name: group };
  }
  return readFromJob(body.from_job);
}

/** Who sets how many nodes a job may have, and how that is raised. */
const LIMITED_BY = {
  'the server': 'push.max_nodes in the settings of the server',
  'the organization': '`muster org set ORG --max-nodes N`',
} as const;

/** @param limit null: any number. @throws MusterError `too_many_nodes` */
export function checkMostNodes(nodes: number, who: keyof typeof LIMITED_BY, limit: number | null): void {
  if (limit !== null && nodes > limit)
    throw new MusterError('too_many_nodes', { nodes, who, limit, raised: LIMITED_BY[who] });
}

/** A node named twice takes part once. */
function readNodes(names: readonly string[], maxNodes: number): readonly string[] {
  const nodes = [...new Set(names)];
  checkMostNodes(nodes.length, 'the server', maxNodes);
  for (const name of nodes) {
    if (name === '') throw invalid('nodes', 'a node name must not be empty');
    checkText('nodes', name, MAX_NODE_NAME_BYTES);
  }
  return nodes;
}

/** `complete` is the specification's word for either end of a command (Push Jobs §6.3). */
const STATUSES: Readonly<Record<string, readonly PushJobNodeStatus[]>> = {
  new: ['new'],
  ready: ['ready'],
  running: ['running'],
  succeeded: ['succeeded'],
  failed: ['failed'],
  complete: ['succeeded', 'failed'],
  aborted: ['aborted'],
  crashed: ['crashed'],
  nacked: ['nacked'],
  unavailable: ['unavailable'],
  was_ready: ['was_ready'],
  timed_out: ['timed_out'],
};

function readFromJob(value: unknown): Target {
  if (!isObject(value)) throw invalid('from_job', 'must be an object with id and statuses');
  const unknown = Object.keys(value).find((key) => key !== 'id' && key !== 'statuses');
  if (unknown !== undefined) throw invalid(`from_job.${unknown}`, 'no such key');
  const { id, statuses } = value;
  if (typeof id !== 'string' || !isJobId(id)) throw invalid('from_job.id', 'must be a job id (32 hex digits)');
  if (!isStringList(statuses) || statuses.length === 0 || statuses.length > 64) {
    throw invalid('from_job.statuses', 'must be a list of job-node statuses');
  }
  return { kind: 'from_job', jobId: id, statuses: readNodeStatuses('from_job.statuses', statuses) };
}

/** Job-node statuses by name, each once. */
export function readNodeStatuses(field: string, names: readonly string[]): readonly PushJobNodeStatus[] {
  const statuses = names.flatMap((name) => {
    const known = Object.hasOwn(STATUSES, name) ? STATUSES[name] : undefined;
    if (known === undefined) {
      throw invalid(field, `'${name.slice(0, 40)}' is none of ${Object.keys(STATUSES).join(', ')}`);
    }
    return known;
  });
  return [...new Set(statuses)];
}
