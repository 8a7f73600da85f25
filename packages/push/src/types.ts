import type { CommandOptions } from '@muster/wire';

/** Job statuses as REST shows them (decision N5). */
export type PushJobStatus =
  /** Stored, not yet voting. */
  | 'new'
  /** Nodes are asked to commit; ends when all have voted or the voting timeout passes. */
  | 'voting'
  /** Start is sent to ready nodes; ends when no node is ready or running, or at run_timeout. */
  | 'running'
  | 'complete'
  | 'quorum_failed'
  | 'timed_out'
  | 'aborted'
  | 'crashed';

export const FINAL_PUSH_JOB_STATUSES = ['complete', 'quorum_failed', 'timed_out', 'aborted', 'crashed'] as const;
export type FinalPushJobStatus = (typeof FINAL_PUSH_JOB_STATUSES)[number];

/** The machine's states: the statuses, plus `aborting`, which REST shows as the status it came from with `aborting: true`. */
export type PushJobPhase = 'new' | 'voting' | 'running' | 'aborting' | 'finished';

export type PushJobNodeStatus =
  /** Has neither committed nor refused. */
  | 'new'
  /** Has committed, not yet known to run. */
  | 'ready'
  | 'running'
  | 'succeeded'
  | 'failed'
  /** Started, then stopped by an abort. */
  | 'aborted'
  /** Went down, restarted or misbehaved after the vote. */
  | 'crashed'
  /** Refused, or permission denied. */
  | 'nacked'
  /** Down, busy or silent before it committed. */
  | 'unavailable'
  /** Committed, but never started. */
  | 'was_ready'
  | 'timed_out';

export const FINAL_PUSH_JOB_NODE_STATUSES = [
  'succeeded',
  'failed',
  'aborted',
  'crashed',
  'nacked',
  'unavailable',
  'was_ready',
  'timed_out',
] as const satisfies readonly PushJobNodeStatus[];
export type FinalPushJobNodeStatus = (typeof FINAL_PUSH_JOB_NODE_STATUSES)[number];

/** A number of nodes, or a share of them. `percent` is 0 to 100. */
export type Share = { readonly count: number } | { readonly percent: number };

/** Of which saved command a push job is a run. */
export interface RunbookMark {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  /** As they may be shown. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Its file holds a secret, and is not shown. */
  readonly secret: boolean;
  /** The file and the secrets in it, see `sealRun`; absent: it holds none, or the run has ended. */
  readonly sealed?: string;
}

/** A push job as validated at the door. Times are seconds. */
export interface PushJobSpec {
  readonly command: string;
  readonly options: CommandOptions;
  readonly capture: boolean;
  /** Number of ready nodes needed; already resolved against the node count. */
  readonly quorum: number;
  readonly runTimeout: number;
  readonly votingTimeout: number;
  /** Silent nodes become unavailable after this; null: only the voting timeout counts. */
  readonly ackTimeout: number | null;
  readonly nodeTimeout: number | null;
  /** At most this many nodes run at once; null: no limit. */
  readonly concurrency: number | null;
  /** At most this many nodes are started per second; null: no limit. */
  readonly startRate: number | null;
  /** More failures than this stop the starting of further nodes; null: no limit. */
  readonly maxFailures: number | null;
  /**
   * Started in batches of so many nodes, one after the other, the last size again and again; absent: as the other limits
   * allow.
   */
  readonly batches?: readonly number[];
  /** Between the end of a batch and the start of the next. */
  readonly batchPause?: number;
  /** After each batch somebody says whether to go on. */
  readonly batchConfirm?: true;
  /** After more failures than allowed: nothing is started until somebody says to go on, or everything is aborted; absent: the others end. */
  readonly onFailures?: 'hold' | 'abort';
  /** Nodes that are busy are waited for, this long from the creation on; absent: they are refused at once. */
  readonly waitTimeout?: number;
  /** Among jobs that wait: the number of this one, in the order in which they were started. */
  readonly turn?: number;
  /** What the nodes were chosen by, for people. */
  readonly target: string;
  /** Of the principal who started it, and so may look at it: names are given again, ids are not. */
  readonly requesterId?: string;
  readonly runbook?: RunbookMark;
}
