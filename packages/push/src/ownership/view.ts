import { NODE_STATUS } from '@muster/nodes';
import { formatIso, formatRfc1123 } from '@muster/wire';
import { Type } from 'typebox';
import { isAvailable, type OwnedNode, reasonOf } from './owned-node.js';

/** Whether a node takes jobs, since when, and why, in every answer about nodes. */
export const AVAILABILITY = {
  availability: Type.Union([Type.Literal('available'), Type.Literal('unavailable')]),
  owner_since: Type.String({
    format: 'date-time',
    description: 'ISO 8601; when its owner last changed, and with it its availability',
  }),
  reason: NODE_STATUS.reason,
};

/** As deployed clients know it, and so with their times. */
export const NodeState = Type.Object({
  ...NODE_STATUS,
  ...AVAILABILITY,
  updated_at: Type.String({ description: 'RFC 1123; when `status` last changed' }),
  owner_since: Type.String({ description: 'RFC 1123; when its owner last changed, and with it its availability' }),
});

export function available(owned: OwnedNode) {
  return isAvailable(owned) ? ('available' as const) : ('unavailable' as const);
}

export function availability(owned: OwnedNode) {
  return { availability: available(owned), owner_since: formatIso(owned.since), reason: reasonOf(owned) };
}

/**
 * Superset of both lineages (N4). `updated_at` tells when `status` last changed (Push Jobs §6.6), `owner_since` when the
 * node came into the hands it is in, which decide whether it takes jobs.
 */
export function nodeState(owned: OwnedNode) {
  const { name, status, statusAt, via } = owned.node;
  return {
    node_name: name,
    status,
    via,
    updated_at: formatRfc1123(statusAt),
    ...availability(owned),
    owner_since: formatRfc1123(owned.since),
  };
}
