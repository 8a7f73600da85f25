import type { AgentState, CommandResult, CommandsReport, PushOrder, PushReport } from './push.js';
import type { SystemOrder } from './systems.js';
import type { TaskOrder, TaskReport } from './tasks.js';

/**
 * The one internal vocabulary between server and agent (decision N1): the Push Jobs spec's own names.
 * Dialects translate their wire shapes to and from these; nothing else knows an old name.
 */

/** Server to agent. */
export type ServerMessage =
  | PushOrder
  | TaskOrder
  | SystemOrder
  /** Confirms a (re)connected command channel. */
  | { readonly type: 'welcome' }
  /** Ask for the configuration again (Push Jobs §3.2). */
  | { readonly type: 'reconfigure' };

/** Agent to server. */
export type AgentMessage =
  | PushReport
  | TaskReport
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
  /** The agent is being stopped: nothing comes after this until it starts again (Push Jobs §5.3.6). */
  | { readonly type: 'stopping' }
  | { readonly type: 'facts'; readonly facts: Facts; readonly labels: Labels }
  | CommandsReport;

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
