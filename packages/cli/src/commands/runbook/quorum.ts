/** For whoever runs a runbook for which not enough nodes are ready: they have no flag for it. */
export const QUORUM_OF_RUNBOOK =
  'wait until more nodes are up (muster node list), or have its author set quorum in the runbook, or `available: true`, with which it runs wherever it can';
