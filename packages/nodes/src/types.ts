import type { Organization } from '@muster/platform/auth';
import type { Recordable } from '@muster/platform/log';
import type { Schema, Write } from '@muster/store';
import type { AgentMessage, AgentState, Dialect, Facts, Labels, ServerMessage } from '@muster/wire';
import type { Transaction } from 'kysely';
import type { TSchema } from 'typebox';
import type { Peer } from './transport.js';

/** What the server knows of a node; what REST shows of it is derived from this. */
export interface NodeView {
  readonly org: Organization;
  readonly name: string;
  readonly createdAt: number;
  /** `ssh`: it has no agent, and the server itself runs commands there. */
  readonly via: 'agent' | 'ssh';
  readonly status: 'up' | 'down';
  readonly statusAt: number;
  /** Why it is up or down. */
  readonly reason: string;
  readonly incarnation: string | null;
  readonly lastEnd: RestartEnd | null;
  readonly dialect: Dialect | null;
  readonly facts: Facts;
  readonly labels: Labels;
  /** Last valid heartbeat heard by this server process; null when none yet. */
  readonly heardAt: number | null;
  readonly state: AgentState | null;
  /** When its agent said that it stops, in order; null once it is heard again. */
  readonly stoppedAt: number | null;
  /** The connection it was last heard on: another object for each connection. */
  readonly peer: Peer | null;
}

/** How an incarnation of a node ended. */
export type RestartEnd = 'clean' | 'crash' | 'reinstalled';

export type NodeReport = Omit<Extract<AgentMessage, { type: 'heartbeat' }>, 'type'>;

/** What a node says to those who gave it something to do. The rest of its messages is about the node itself. */
export type NodeMessage = Exclude<AgentMessage, { type: 'heartbeat' | 'facts' | 'stopping' }>;

/**
 * What a layer above hears of nodes: synchronously, in the order things happened, one listener after the other. What it
 * hears is handed to the store already, and it may call back at once.
 */
export interface NodeListener {
  /** The sockets are open: from now on nodes are heard, and judged by their silence. */
  opened(): void;
  /** The sockets are closed: nothing is heard any more. */
  closed(): Promise<void>;
  up(node: NodeView): void;
  /** Stopped heartbeating, or was removed. */
  down(node: NodeView): void;
  /** It runs under another incarnation; told before what it then said. `end`: how the old one ended. */
  restarted(node: NodeView, end: RestartEnd): void;
  /** Every heartbeat; after `up`, when it brought the node up. */
  heartbeat(node: NodeView, report: NodeReport): void;
  message(node: NodeView, message: NodeMessage): void;
  /** It has another connection, and what it first said there was told: what was sent before may be lost. */
  reconnected(node: NodeView): void;
  /** In the transaction that deletes its row. */
  removing(node: NodeView, trx: Transaction<Schema>): Promise<void>;
  /** That transaction failed, so it is still there; what was to be stored meanwhile was not. */
  kept(node: NodeView): void;
  /** It is in the registry no more. */
  removed(node: NodeView): void;
}

/** What a layer above knows of a node, for what the nodes layer shows of it. */
export interface NodeAspect {
  /** Fields in what REST shows of a node. A field of the node itself with the same name gives way. */
  readonly fields: Readonly<Record<string, TSchema>>;
  describe(node: NodeView): Readonly<Record<string, unknown>>;
  /** By which nodes are counted in the metrics. */
  readonly labels: Readonly<Record<string, (node: NodeView) => string>>;
  /** What selectors see. */
  attributes(node: NodeView): Attributes;
  /** What the event says that tells that it is up or down now; asked before listeners are told. */
  changed(node: NodeView): Readonly<Record<string, string>>;
  /** Of a node that is up. */
  explain(node: NodeView, now: number): Standing;
  /** Of a node that is down, what is known better than by its silence; null: nothing. */
  explainDown?(node: NodeView): readonly string[] | null;
  /** @throws MusterError when it must not be deleted now. */
  assertRemovable(node: NodeView): void;
}

export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** Whether a node can be given something to do, and in sentences why. */
export interface Standing {
  readonly available: boolean;
  readonly sentences: readonly string[];
}

/** What layers above need of the nodes layer. Names are node names inside one organization. */
export interface NodeRegistry {
  get(orgId: string, name: string): NodeView | undefined;
  /** All known nodes of the organization, by name. */
  list(orgId: string): readonly NodeView[];
  /** Those of all organizations. */
  all(): Iterable<NodeView>;
  /** Attributes a selector sees: facts, labels, and name, status, dialect, and what layers above know. */
  attributes(node: NodeView): Attributes;
  /** Never blocks; a message that cannot be sent is dropped and counted. The body is encoded once per dialect. */
  send(orgId: string, names: readonly string[], message: ServerMessage): void;
  /** Sends to those that have a connection, and answers which. */
  reach(nodes: readonly NodeView[], message: ServerMessage): readonly NodeView[];
  /**
   * Stores what belongs to a node, with the events that tell of it. False when it will never be stored: the store was
   * closed, or the node removed.
   */
  persist(node: NodeView, writes: readonly Write[], events: readonly Recordable[]): Promise<boolean>;
  listen(listener: Partial<NodeListener>): void;
  show(aspect: NodeAspect): void;
}
