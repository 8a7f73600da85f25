import type { Metrics } from '@muster/platform/metrics';

/** The series of ownership. */
export interface OwnershipMetrics {
  violation(): void;
}

export function createOwnershipMetrics(metrics: Metrics): OwnershipMetrics {
  const violations = metrics.counter(
    'muster_invariant_violations_total',
    'Nodes found without a rightful owner, and sent to rehab',
  );
  return { violation: () => violations.inc() };
}
