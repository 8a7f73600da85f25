import type { Organization } from '@muster/platform/auth';
import type { AgentMessage, AgentState, CommandResult, Dialect, Facts, Labels, ServerMessage } from '@muster/wire';

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

/** What the server knows of a node; what REST shows of it is derived from this. */
export interface NodeView {
  readonly org: Organization;
  readonly name: string;
  readonly status: 'up' | 'down';
  readonly statusAt: number;
  readonly owner: Owner;
  readonly ownerAt: number;
  readonly reason: string;
  readonly incarnation: string | null;
  readonly lastEnd: 'clean' | 'crash' | 'reinstalled' | null;
  readonly dialect: Dialect | null;
  readonly facts: Facts;
  readonly labels: Labels;
  /** Last valid heartbeat heard by this server process; null when none yet. */
  readonly heardAt: number | null;
  readonly state: AgentState | null;
}

export type ClaimResult =
  | { readonly kind: 'claimed'; readonly incarnation: string | null }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'down' }
  | { readonly kind: 'rehab' }
  | { readonly kind: 'busy'; readonly jobId: string };

/** What a job hears about the nodes it owns. Called synchronously, in the order things happened. */
export interface PushPort {
  /** A valid message other than a heartbeat. */
  message(jobId: string, node: string, message: Exclude<AgentMessage, { type: 'heartbeat' }>): void;
  /** Every heartbeat. */
  heartbeat(
    jobId: string,
    node: string,
    report: { readonly state: AgentState; readonly jobId: string | null; readonly last: CommandResult | null },
  ): void;
  /** Stopped heartbeating; it is owned by `down` already. */
  down(jobId: string, node: string): void;
  /** Came back with another incarnation; it is in rehab already. `end` tells how the old one ended. */
  restarted(jobId: string, node: string, end: 'clean' | 'crash' | 'reinstalled'): void;
  /** Whether a job with this id is still unfinished (for heartbeats that name a dead job). */
  isLive(jobId: string): boolean;
}

/** What push jobs need of the nodes layer. Names are node names inside one organization. */
export interface NodeRegistry {
  get(orgId: string, name: string): NodeView | undefined;
  /** All known nodes of the organization, by name. */
  list(orgId: string): readonly NodeView[];
  /** Attributes a selector sees: facts, labels, and name, status, availability, dialect. */
  attributes(node: NodeView): Readonly<Record<string, string | number | boolean>>;
  /** Idle nodes become the job's, in one synchronous step (§5.5.3). */
  claim(orgId: string, jobId: string, names: readonly string[]): ReadonlyMap<string, ClaimResult>;
  /**
   * At start-up: the job's unfinished nodes are its own again until their first heartbeat tells (N10), when they were
   * its own or idle. A node that is down, in rehab, unknown or another job's stays so: `get` tells who owns it then.
   */
  readopt(orgId: string, jobId: string, name: string): void;
  /** Hands a node back. Ignored unless the job owns it. */
  release(orgId: string, jobId: string, name: string, to: 'idle' | 'rehab', reason: string): void;
  /** Never blocks; a message that cannot be sent is dropped and counted. The body is encoded once per dialect. */
  send(orgId: string, names: readonly string[], message: ServerMessage): void;
  attach(port: PushPort): void;
}
