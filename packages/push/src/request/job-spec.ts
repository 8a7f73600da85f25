import type { PushJobSpec, Share } from '../types.js';
import type { JobRequest } from './request.js';
import { resolveShare } from './shares.js';

/** What the server's settings give to jobs that do not say. Seconds. */
export interface JobDefaults {
  readonly runTimeout: number;
  readonly votingTimeout: number;
  readonly waitTimeout: number;
  /** Of the organization, for jobs that ask for it; absent: all nodes. */
  readonly quorum?: Share | null;
}

/**
 * Turns shares into counts, now that the number of nodes is known. Nodes whose EXECUTE is denied count: they were
 * asked for, and a quorum of all of them cannot be reached without them (N13).
 */
export function resolveSpec(
  request: JobRequest,
  nodeCount: number,
  target: string,
  defaults: JobDefaults,
): PushJobSpec {
  const { concurrency, maxFailures } = request;
  return {
    command: request.command,
    options: request.options,
    capture: request.capture,
    quorum: resolveQuorum(request.quorum, nodeCount, defaults.quorum ?? null),
    runTimeout: request.runTimeout ?? defaults.runTimeout,
    votingTimeout: request.votingTimeout ?? defaults.votingTimeout,
    ackTimeout: request.ackTimeout,
    nodeTimeout: request.nodeTimeout,
    concurrency: concurrency === null ? null : Math.max(1, resolveShare(concurrency, nodeCount)),
    startRate: request.startRate,
    maxFailures: maxFailures === null ? null : resolveShare(maxFailures, nodeCount, 'down'),
    target,
    ...batchesOf(request, nodeCount),
    ...(request.onFailures !== 'end' && { onFailures: request.onFailures }),
    ...(request.whenBusy === 'wait' && { waitTimeout: request.waitTimeout ?? defaults.waitTimeout }),
  };
}

/** Nodes that must be ready. @param usual The organization's; null: all nodes */
export function resolveQuorum(quorum: JobRequest['quorum'], nodeCount: number, usual: Share | null): number {
  const share = quorum === 'default' ? usual : quorum;
  return share === null ? nodeCount : resolveShare(share, nodeCount);
}

/** Shares of all nodes, rounded up: of 5 nodes 10% is one. */
export function batchesOf(
  { batches, batchPause, batchConfirm }: Pick<JobRequest, 'batches' | 'batchPause' | 'batchConfirm'>,
  nodeCount: number,
): Pick<PushJobSpec, 'batches' | 'batchPause' | 'batchConfirm'> {
  if (batches === null) return {};
  const sizes = batches.map((size) => Math.max(1, size === 'rest' ? nodeCount : resolveShare(size, nodeCount)));
  return {
    batches: sizes,
    ...(batchPause !== null && { batchPause }),
    ...(batchConfirm && { batchConfirm: true as const }),
  };
}
