/**
 * The one internal vocabulary between server and agent (decision N1): the Push Jobs spec's own names.
 * Dialects translate their wire shapes to and from these; nothing else knows an old name.
 */

/** What the agent says it is doing (Push Jobs §5.7). `waiting` has acked a job, `terminating` is killing one. */
export type AgentState = 'ready' | 'waiting' | 'running' | 'terminating';

/** Options of a command that travel to the node (sheet §6.6). */
export interface CommandOptions {
  readonly user?: string;
  readonly dir?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** `raw:…` or `base64:…`, as posted. */
  readonly file?: string;
}

export type Stream = 'stdout' | 'stderr';

/** Server to agent. */
export type ServerMessage =
  /** Offer a job; the agent answers ack or nack. */
  | {
      readonly type: 'prepare';
      readonly jobId: string;
      readonly command: string;
      readonly capture: boolean;
      readonly options: CommandOptions;
      /** Execution limit on this node in seconds; absent means none. */
      readonly timeoutSeconds?: number;
      /** How long the agent stays waiting for start, in seconds. */
      readonly waitSeconds?: number;
    }
  /** Start the prepared job; answered by started, or by finished again when it already ended. */
  | { readonly type: 'start'; readonly jobId: string }
  /** Drop whatever is going on, become ready; answered by aborted. */
  | { readonly type: 'abort' }
  /** All bytes below `offset` of this stream are stored; the agent may forget them. Native only. */
  | { readonly type: 'output_stored'; readonly jobId: string; readonly stream: Stream; readonly offset: number }
  /** Confirms a (re)connected command channel. */
  | { readonly type: 'welcome' }
  /** Ask for the configuration again (Push Jobs §3.2). */
  | { readonly type: 'reconfigure' };

export type Outcome = 'succeeded' | 'failed' | 'timed_out';

/** How a command ended on a node. */
export interface CommandResult {
  readonly jobId: string;
  readonly outcome: Outcome;
  /** Exit status, null when a signal or the agent ended it. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly reason: string | null;
}

/** Agent to server. */
export type AgentMessage =
  | {
      readonly type: 'heartbeat';
      readonly state: AgentState;
      /** The job the agent is waiting for, running or terminating; null when ready. */
      readonly jobId: string | null;
      /** How the most recent command ended, so that a lost `finished` is noticed (Push Jobs §4.2). */
      readonly last: CommandResult | null;
    }
  /** Sent at start, when the server's heartbeat returns while idle, and when a terminated command is really gone. */
  | {
      readonly type: 'ready';
      /** How the agent came to start: after a clean stop, after a crash, for the first time; null when it did not just start. */
      readonly start: 'clean' | 'crash' | 'first' | null;
    }
  | { readonly type: 'ack'; readonly jobId: string | null }
  | {
      readonly type: 'nack';
      readonly jobId: string | null;
      readonly reason: string;
      readonly currentJobId: string | null;
    }
  | { readonly type: 'started'; readonly jobId: string | null }
  | (CommandResult & {
      readonly type: 'finished';
      /** Whole captured output; only dialects that do not stream it (`chef2`) fill these. */
      readonly output: { readonly stdout: Uint8Array; readonly stderr: Uint8Array } | null;
      /** Total bytes the command wrote, dropped ones included; null when unknown or not captured. */
      readonly bytes: { readonly stdout: number; readonly stderr: number } | null;
    })
  /** `from` is the state abort found the agent in; `terminating` means the command is not gone yet. */
  | { readonly type: 'aborted'; readonly jobId: string | null; readonly from: AgentState; readonly settled: boolean }
  | { readonly type: 'error'; readonly jobId: string | null; readonly reason: string }
  /** The agent found at start that it had crashed while running `jobId` (§5.7 Startup). */
  | { readonly type: 'crashed'; readonly jobId: string | null }
  | {
      readonly type: 'output';
      readonly jobId: string;
      readonly stream: Stream;
      /** Position of `data` in everything the command wrote; a jump over the previous end means bytes were dropped. */
      readonly offset: number;
      readonly data: Uint8Array;
    }
  /** The agent is being stopped: nothing comes after this until it starts again (Push Jobs §5.3.6). */
  | { readonly type: 'stopping' }
  | { readonly type: 'facts'; readonly facts: Facts; readonly labels: Labels };

export type FactValue = string | number | boolean;
/** hostname, fqdn, ip, os, arch, kernel, cpus, memory (bytes), uptime (seconds), agent_version. */
export type Facts = Readonly<Record<string, FactValue>>;
/** The node owner's own key/value pairs, searchable like facts. */
export type Labels = Readonly<Record<string, FactValue>>;

/** Names of the dialects (decision N1). */
export type Dialect = 'native' | 'chef2' | 'spec1';

/** What every message from an agent carries besides its content. */
export interface AgentEnvelope {
  readonly org: string;
  readonly node: string;
  readonly incarnation: string | null;
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
  /** Counts up per session; null where the dialect has none. */
  readonly sequence: number | null;
}

/** Why a received message was dropped; the label of `muster_messages_dropped_total`. */
export type DropCause =
  | 'frames'
  | 'header_too_big'
  | 'body_too_big'
  | 'bad_header'
  | 'parse_fail'
  | 'unknown_org'
  | 'unknown_node'
  | 'no_session'
  | 'bad_sig'
  | 'bad_timestamp'
  | 'replayed'
  | 'unknown_type'
  /** More than its sender may send. */
  | 'rate_limited';
