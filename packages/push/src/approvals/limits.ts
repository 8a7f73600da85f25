/** Limits of approvals. */
export const APPROVAL_LIMITS = {
  /** Of one organization that wait. */
  pending: 1000,
  /** Seconds that one may wait: unless it is said, at least, and at most. */
  within: 86_400,
  leastWithin: 60,
  mostWithin: 2_592_000,
  approvers: 200,
  /** Others who have to agree, at most. */
  grants: 10,
  /** Of one organization. */
  policies: 100,
  policyName: 100,
  /** Characters of why one was denied. */
  reason: 1000,
  /** Shown in one list. */
  listed: 1000,
  /** Rows changed in one transaction of upkeep, and between two rounds of it. */
  rows: 100,
  pauseMs: 30_000,
} as const;
