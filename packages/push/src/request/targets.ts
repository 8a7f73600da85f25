import type { NodeRegistry } from '@muster/nodes';
import { searchNodes } from '@muster/nodes';
import type { Identity, Organization } from '@muster/platform/auth';
import type { Schema, Write } from '@muster/store';
import type { Kysely } from 'kysely';
import { MusterError } from '../errors.js';
import { findJob, jobNodeNames } from '../repository/reads.js';
import type { PushJobNodeStatus } from '../types.js';
import { checkMostNodes, type Target } from './request-target.js';

/** What push jobs need of node groups and grants (N13). */
export interface TargetAccess {
  /** The nodes of a group, listed or selected; undefined when there is no such group. */
  nodeGroup(org: Organization, name: string): Promise<readonly string[] | undefined>;
  /** Which of these the caller may not run commands on. */
  denied(caller: Identity, org: Organization, names: readonly string[]): Promise<readonly string[]>;
  /** To be stored with what is stored for it: refused (`GuardFailed`) when it was deleted while the request was on its way. */
  present(org: Organization): Write;
}

export interface ChosenNodes {
  readonly allowed: readonly string[];
  readonly denied: readonly string[];
  /** In words, for people. */
  readonly target: string;
}

export interface TargetDeps {
  readonly read: Kysely<Schema>;
  readonly nodes: NodeRegistry;
  readonly access: TargetAccess;
  readonly maxNodes: number;
}

/** Finds the nodes a request is about, once, when it arrives (Push Jobs §5.3.1), and who of them may be used. */
export async function chooseNodes(
  deps: TargetDeps,
  caller: Identity,
  org: Organization,
  target: Target,
): Promise<ChosenNodes> {
  const described = describeTarget(target);
  const names = await targetNames(deps, org, target);
  if (names.length === 0) throw nothingChosen(target, described);
  checkMostNodes(names.length, 'the server', deps.maxNodes);
  const denied = new Set(await deps.access.denied(caller, org, names));
  return { allowed: names.filter((name) => !denied.has(name)), denied: [...denied], target: described };
}

/** Those on which it would be now; none is no mistake. @throws MusterError as `chooseNodes` */
export async function nodesNow(
  deps: TargetDeps,
  caller: Identity,
  org: Organization,
  target: Target,
): Promise<readonly string[]> {
  try {
    const { allowed, denied } = await chooseNodes(deps, caller, org, target);
    return [...allowed, ...denied];
  } catch (error) {
    if (error instanceof MusterError && NOTHING_CHOSEN.has(error.code)) return [];
    throw error;
  }
}

const NOTHING_CHOSEN: ReadonlySet<string> = new Set(['no_nodes_matched', 'no_job_nodes_matched']);

function nothingChosen(target: Target, described: string): MusterError {
  if (target.kind !== 'from_job') return new MusterError('no_nodes_matched', { target: described });
  return new MusterError('no_job_nodes_matched', { job: target.jobId, statuses: inWords(target.statuses) });
}

/** As people read them; those of Chef's protocol say little by themselves. */
const WORDS: Readonly<Partial<Record<PushJobNodeStatus, string>>> = {
  nacked: 'refused',
  was_ready: 'not started',
  timed_out: 'timed out',
};

/** `failed`, `refused or not started`, `refused, unavailable or not started`. */
function inWords(statuses: readonly PushJobNodeStatus[]): string {
  const words = statuses.map((status) => WORDS[status] ?? status);
  const last = words.pop() ?? '';
  return words.length === 0 ? last : `${words.join(', ')} or ${last}`;
}

async function targetNames(deps: TargetDeps, org: Organization, target: Target): Promise<readonly string[]> {
  switch (target.kind) {
    case 'nodes':
      return target.nodes;
    case 'search':
      return searchNodes(deps.nodes, deps.nodes.list(org.id), target.query).map((node) => node.name);
    case 'node_group': {
      const names = await deps.access.nodeGroup(org, target.name);
      if (names === undefined) throw new MusterError('not_found', { kind: 'node group', name: target.name });
      return names;
    }
    case 'from_job': {
      const job = await findJob(deps.read, org.id, target.jobId);
      if (job === undefined) throw new MusterError('push_job_not_found', { job: target.jobId });
      return jobNodeNames(deps.read, target.jobId, target.statuses);
    }
  }
}

/** In words, for people. */
export function describeTarget(target: Target): string {
  switch (target.kind) {
    case 'nodes':
      return target.nodes.length === 1 ? (target.nodes[0] ?? '') : `${target.nodes.length} named nodes`;
    case 'search':
      return target.query;
    case 'node_group':
      return `node group ${target.name}`;
    case 'from_job':
      return `${target.statuses.join(', ')} nodes of job ${target.jobId}`;
  }
}
