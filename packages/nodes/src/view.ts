import { formatRfc1123 } from '@muster/wire';
import { isAvailable } from './availability.js';
import type { KnownNode } from './known-node.js';
import type { NodeView } from './types.js';

/**
 * Superset of both lineages (N4). `updated_at` tells when `status` last changed (Push Jobs §6.6), `owner_since` when the
 * node came into the hands it is in, which decide whether it takes jobs.
 */
export function nodeState(node: NodeView) {
  return {
    node_name: node.name,
    status: node.status,
    availability: isAvailable(node) ? ('available' as const) : ('unavailable' as const),
    updated_at: formatRfc1123(node.statusAt),
    owner_since: formatRfc1123(node.ownerAt),
    reason: node.reason,
  };
}

/** Everything the server knows of a node. */
export function nodeDetail(node: KnownNode) {
  return {
    ...nodeState(node),
    owner: node.owner.kind,
    ...(node.owner.kind === 'job' && { job_id: node.owner.jobId }),
    state: node.state,
    heard_at: node.heardAt === null ? null : formatRfc1123(node.heardAt),
    incarnation: node.incarnation,
    last_end: node.lastEnd,
    dialect: node.dialect,
    created_at: formatRfc1123(node.createdAt),
    facts: node.facts,
    labels: node.labels,
  };
}
