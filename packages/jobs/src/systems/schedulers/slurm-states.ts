/** What a state of Slurm means for a job: it waits, it runs, or it ended, by itself (null) or for a reason (sheet §2.7). */
export type SlurmMeaning = 'queued' | 'running' | { readonly ended: string | null };

const MEANINGS: Readonly<Record<string, SlurmMeaning>> = {
  PENDING: 'queued',
  CONFIGURING: 'queued',
  REQUEUED: 'queued',
  REQUEUE_FED: 'queued',
  REQUEUE_HOLD: 'queued',
  RESV_DEL_HOLD: 'queued',
  SPECIAL_EXIT: 'queued',
  POWER_UP_NODE: 'queued',
  RUNNING: 'running',
  SUSPENDED: 'running',
  STOPPED: 'running',
  SIGNALING: 'running',
  RESIZING: 'running',
  STAGE_OUT: 'running',
  // Processes of it may be left.
  COMPLETING: 'running',
  COMPLETED: { ended: null },
  FAILED: { ended: null },
  OUT_OF_MEMORY: { ended: 'SCHEDULER_OUT_OF_MEMORY' },
  TIMEOUT: { ended: 'SCHEDULER_TIMEOUT' },
  DEADLINE: { ended: 'SCHEDULER_DEADLINE' },
  CANCELLED: { ended: 'SCHEDULER_CANCELLED' },
  PREEMPTED: { ended: 'SCHEDULER_STOPPED' },
  REVOKED: { ended: 'SCHEDULER_STOPPED' },
  NODE_FAIL: { ended: 'SCHEDULER_TERMINATED' },
  BOOT_FAIL: { ended: 'SCHEDULER_TERMINATED' },
  LAUNCH_FAILED: { ended: 'SCHEDULER_TERMINATED' },
  RECONFIG_FAIL: { ended: 'SCHEDULER_TERMINATED' },
};

/** Undefined: no state that is known. Accounting says `CANCELLED by 1000`, and marks what it cut short with a `+`. */
export function meaningOf(state: string): SlurmMeaning | undefined {
  const word = /^[A-Z_]+/.exec(state)?.[0] ?? '';
  return Object.hasOwn(MEANINGS, word) ? MEANINGS[word] : undefined;
}
