/** What the rules look at in the rows of jobs and of their nodes. */

export interface JobEntry {
  readonly id: string;
  readonly status: string;
  readonly phase: string;
  readonly deadline: number | null;
  readonly quorum: number;
  readonly concurrency: number | null;
  readonly maxFailures: number | null;
}

export interface JobNodeEntry {
  readonly jobId: string;
  readonly node: string;
  readonly status: string;
  readonly starting: boolean;
}
