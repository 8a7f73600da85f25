import { MusterError } from '../../errors.js';
import { nodeStatusNamed } from '../../node-words.js';
import { checkNodeNames, refuseStrayQuery } from './stray-query.js';

export interface TargetOptions {
  readonly node?: readonly string[];
  readonly nodeGroup?: string;
  readonly fromJob?: string;
  readonly jobStatus?: string;
  readonly rerun?: string;
  readonly failed?: boolean;
  readonly notStarted?: boolean;
  readonly group?: string;
}

/** The job to run again, when that is how the nodes are chosen. */
export function rerunOf(options: TargetOptions): string | null {
  if (options.rerun === undefined) {
    if (options.failed !== true && options.notStarted !== true && options.group === undefined) return null;
    throw new MusterError('usage', { reason: '--failed, --not-started and --group need --rerun' });
  }
  if (targetOfFlags(options) === null) return options.rerun;
  throw new MusterError('usage', { reason: 'choose nodes in one way: --rerun, or another flag' });
}

/** The part of a POST jobs body that chooses the nodes; exactly one way. */
export type Target =
  | { readonly nodes: readonly string[] }
  | { readonly search: string }
  | { readonly node_group: string }
  | { readonly from_job: { readonly id: string; readonly statuses: readonly string[] } };

export interface Chosen {
  readonly target: Target;
  /** The words of the command. */
  readonly words: readonly string[];
}

/**
 * Which nodes, and what to run there. What follows `--` is the command; without `--`, what follows the query is, as
 * the seed writes it (Push Jobs §1.1): `push start "role:my_role" chef-client`.
 */
export function chooseTarget(
  operands: readonly string[],
  afterDashes: readonly string[] | undefined,
  options: TargetOptions,
): Chosen {
  const flagged = targetOfFlags(options);
  const [first, ...others] = operands;
  if (flagged !== null) {
    if (afterDashes === undefined) {
      refuseStrayQuery(operands, 'the flag');
      return { target: flagged, words: operands };
    }
    if (first !== undefined) {
      throw new MusterError('usage', { reason: `choose nodes in one way: the query '${first}' or the flag, not both` });
    }
    return { target: flagged, words: afterDashes };
  }
  if (first === undefined || (afterDashes !== undefined && others.length > 0)) {
    throw new MusterError('usage', {
      reason:
        first === undefined
          ? 'no nodes chosen: give a query such as role:web, or --node, --node-group or --from-job'
          : `quote the query: '${operands.join(' ')}'`,
    });
  }
  return { target: { search: first }, words: afterDashes ?? others };
}

/** @throws MusterError `usage` for more than one. */
export function targetOfFlags(options: TargetOptions): Target | null {
  const ways: Target[] = [];
  checkNodeNames(options.node ?? []);
  if (options.node !== undefined) ways.push({ nodes: options.node });
  if (options.nodeGroup !== undefined) ways.push({ node_group: options.nodeGroup });
  if (options.fromJob !== undefined) ways.push({ from_job: fromJob(options.fromJob, options.jobStatus) });
  else if (options.jobStatus !== undefined) {
    throw new MusterError('usage', { reason: '--job-status needs --from-job' });
  }
  if (ways.length > 1) {
    throw new MusterError('usage', { reason: 'choose nodes in one way: --node, --node-group or --from-job' });
  }
  return ways[0] ?? null;
}

function fromJob(id: string, statuses: string | undefined) {
  if (statuses === undefined) {
    throw new MusterError('usage', {
      reason: '--from-job needs --job-status, for example --job-status failed,crashed',
    });
  }
  const names = statuses.split(',').filter((status) => status.trim() !== '');
  return { id, statuses: names.map((status) => nodeStatusNamed('--job-status', status)) };
}
