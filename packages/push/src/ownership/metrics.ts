import type { NodeView } from '@muster/nodes';
import type { Metrics } from '@muster/platform/metrics';
import type { Owner } from './types.js';

/** The series of ownership. */
export interface OwnershipMetrics {
  violation(): void;
}

export function createOwnershipMetrics(
  metrics: Metrics,
  nodes: () => Iterable<{ readonly node: NodeView; readonly owner: Owner }>,
): OwnershipMetrics {
  metrics.gauge('muster_nodes', 'Known nodes', ['status', 'owner'], (gauge) => {
    gauge.reset();
    for (const { node, owner } of nodes()) gauge.inc({ status: node.status, owner: owner.kind });
  });
  const violations = metrics.counter(
    'muster_invariant_violations_total',
    'Nodes found without a rightful owner, and sent to rehab',
  );
  return { violation: () => violations.inc() };
}
