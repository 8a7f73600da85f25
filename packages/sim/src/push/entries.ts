import type { Stage } from '@muster/push';

/** What the rules look at in the rows of jobs and of their nodes. */

export interface JobEntry {
  readonly id: string;
  readonly status: string;
  readonly phase: string;
  readonly deadline: number | null;
  readonly quorum: number;
  readonly concurrency: number | null;
  readonly maxFailures: number | null;
  readonly waitTimeout: number | undefined;
  readonly batches: readonly number[] | undefined;
  readonly onFailures: string | undefined;
  readonly stage: Stage | null;
}

export interface JobNodeEntry {
  readonly jobId: string;
  readonly node: string;
  readonly status: string;
  readonly starting: boolean;
  /** Busy, and waited for. */
  readonly waits: boolean;
}
