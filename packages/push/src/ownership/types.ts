import type { NodeMessage, NodeReport, RestartEnd } from '@muster/nodes';
import type { TaskReport } from '@muster/wire';

/** What a node says that concerns push jobs, or whose it is. */
export type PushMessage = Exclude<NodeMessage, TaskReport>;

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
  | { readonly kind: 'busy'; readonly jobId: string };

/** What a job hears about the nodes it owns. Called synchronously, in the order things happened. */
export interface OwningJobs {
  message(jobId: string, node: string, message: PushMessage): void;
  /** Every heartbeat. */
  heartbeat(jobId: string, node: string, report: NodeReport): void;
  /** Stopped heartbeating; it is owned by `down` already. */
  down(jobId: string, node: string): void;
  /** Was started anew; it is in rehab already. `end` tells how it ended before. */
  restarted(jobId: string, node: string, end: RestartEnd): void;
  /** Whether a job with this id is still unfinished (for heartbeats that name a dead job). */
  isLive(jobId: string): boolean;
}

/** What push jobs ask of the ownership of nodes. Names are node names inside one organization. */
export interface NodeOwners {
  /** Undefined: there is no such node. */
  ownerOf(orgId: string, name: string): Owner | undefined;
  /** Idle nodes become the job's, in one synchronous step (§5.5.3). */
  claim(orgId: string, jobId: string, names: readonly string[]): ReadonlyMap<string, ClaimResult>;
  /**
   * At start-up: the job's unfinished nodes are its own again until their first heartbeat tells (N10), when they were
   * its own or idle. A node that is down, in rehab, unknown or another job's stays so: `ownerOf` tells who owns it then.
   */
  readopt(orgId: string, jobId: string, name: string): void;
  /** Hands a node back. Ignored unless the job owns it. */
  release(orgId: string, jobId: string, name: string, to: 'idle' | 'rehab', reason: string): void;
  attach(jobs: OwningJobs): void;
}
