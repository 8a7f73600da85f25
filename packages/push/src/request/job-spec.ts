import type { PushJobSpec } from '../types.js';
import type { JobRequest } from './request.js';
import { resolveShare } from './shares.js';

/** What the server's settings give to jobs that do not say. Seconds. */
export interface JobDefaults {
  readonly runTimeout: number;
  readonly votingTimeout: number;
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
  const { quorum, concurrency, maxFailures } = request;
  return {
    command: request.command,
    options: request.options,
    capture: request.capture,
    quorum: quorum === null ? nodeCount : resolveShare(quorum, nodeCount),
    runTimeout: request.runTimeout ?? defaults.runTimeout,
    votingTimeout: request.votingTimeout ?? defaults.votingTimeout,
    ackTimeout: request.ackTimeout,
    nodeTimeout: request.nodeTimeout,
    concurrency: concurrency === null ? null : Math.max(1, resolveShare(concurrency, nodeCount)),
    startRate: request.startRate,
    maxFailures: maxFailures === null ? null : resolveShare(maxFailures, nodeCount, 'down'),
    target,
  };
}
