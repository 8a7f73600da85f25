import { formatIso } from '@muster/wire';
import type { Aspects } from './aspects.js';
import type { KnownNode } from './known-node.js';

/** Everything the server knows of a node. `updated_at` tells when `status` last changed (Push Jobs §6.6). */
export function nodeDetail(node: KnownNode, aspects: Aspects) {
  return {
    node_name: node.name,
    status: node.status,
    updated_at: formatIso(node.statusAt),
    reason: node.reason,
    via: node.via,
    state: node.state,
    heard_at: node.heardAt === null ? null : formatIso(node.heardAt),
    incarnation: node.incarnation,
    last_end: node.lastEnd,
    dialect: node.dialect,
    created_at: formatIso(node.createdAt),
    facts: node.facts,
    labels: node.labels,
    ...aspects.describe(node),
  };
}
