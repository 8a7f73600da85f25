import type { NodeMessage, NodeReport, RestartEnd } from '@muster/nodes';
import type { CommandsReport, TaskReport } from '@muster/wire';

/** What a node says that concerns push jobs, or whose it is. */
export type PushMessage = Exclude<NodeMessage, TaskReport | CommandsReport>;

/** Who handles a node's messages (Push Jobs §5.5.2). An up node always has exactly one owner. */
export type Owner =
  /** Heartbeats have stopped, or never came. Its messages are logged and dropped. */
  | { readonly kind: 'down' }
  /** Misbehaved or unknown state: aborted every second until it acknowledges. */
  | {
      readonly kind: 'rehab';
      readonly since: number;
      readonly reason: string;
      /** It was idle when the server stopped as it should, and nobody can have given it anything since: its heartbeat is enough. */
      readonly untouched?: true;
    }
  /** Ready for a job. */
  | { readonly kind: 'idle' }
  /** Belongs to this job until it finishes or misbehaves. */
  | { readonly kind: 'job'; readonly jobId: string };

export type ClaimResult =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'down' }
  | { readonly kind: 'rehab' }
  | { readonly kind: 'busy'; readonly jobId: string }
  /** Busy or in rehab, and the job is in its queue: see `OwningJobs.free`. */
  | { readonly kind: 'queued'; readonly reason: string };

/** What a job hears about the nodes it owns. Called synchronously, in the order things happened. */
export interface OwningJobs {
  message(jobId: string, node: string, message: PushMessage): void;
  /** Every heartbeat. */
  heartbeat(jobId: string, node: string, report: NodeReport): void;
  /** Stopped heartbeating; it is owned by `down` already. Told also to the jobs that wait for it, which wait no longer. */
  down(jobId: string, node: string): void;
  /** A node that this job waits for is idle, and the job is in its queue no longer: it may claim it now. */
  free(jobId: string, node: string): void;
  /** Was started anew; it is in rehab already. `end` tells how it ended before. */
  restarted(jobId: string, node: string, end: RestartEnd): void;
  /** Whether a job with this id is still unfinished (for heartbeats that name a dead job). */
  isLive(jobId: string): boolean;
}

/** What push jobs ask of the ownership of nodes. Names are node names inside one organization. */
export interface NodeOwners {
  /** Undefined: there is no such node. */
  ownerOf(orgId: string, name: string): Owner | undefined;
  /**
   * Idle nodes become the job's, in one synchronous step (§5.5.3). With `wait` the job enters the queues of those that
   * are busy or in rehab. As this is one step, and queues are first come first served, whoever waits waits for jobs that
   * claimed before it: no two jobs wait for each other.
   */
  claim(orgId: string, jobId: string, names: readonly string[], wait?: boolean): ReadonlyMap<string, ClaimResult>;
  /** How many jobs get the node before this one, itself counted; 0 when it is not in the queue. */
  placeOf(orgId: string, jobId: string, name: string): number;
  /**
   * At start-up: the job's unfinished nodes are its own again until their first heartbeat tells (N10), when they were
   * its own or idle. A node that is down, in rehab, unknown or another job's stays so: `ownerOf` tells who owns it then.
   */
  readopt(orgId: string, jobId: string, name: string): void;
  /** Hands a node back, or gives up waiting for it. Ignored when the job does neither. */
  release(orgId: string, jobId: string, name: string, to: 'idle' | 'rehab', reason: string): void;
  attach(jobs: OwningJobs): void;
}
