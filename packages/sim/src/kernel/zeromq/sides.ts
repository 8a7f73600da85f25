import type { SocketEvent } from '@muster/agent';
import type { Handlers } from '@muster/nodes';
import type { NodeConfiguration } from '@muster/wire';
import type { Process } from '../timeline.js';

/** The way between one node and the servers. */
export interface Path {
  readonly node: string;
  /** Packets that arrive at all, arrive after this; the rest of the conditions come on top. */
  readonly latencyMs: readonly [number, number];
  /** Nothing passes; what was sent is held, as TCP does, and lost when the connection is given up. */
  cut: boolean;
  /** Shares of messages. ZeroMQ over TCP does neither by itself, so only dialects that must bear it get them. */
  drop: number;
  duplicate: number;
  reorder: number;
  /** Added to the latency. */
  delayMs: number;
  /** Messages that were given to the network at the node. */
  sent: number;
}

/** What the sockets of one server process are to the network. */
export interface ServerSide {
  readonly process: Process;
  readonly handlers: Handlers;
  /** Its sockets and its HTTP port are found under this name; one process at a time listens there. */
  readonly host: string;
  /** Its CURVE key: a new one at every start. */
  readonly key: string;
}

/** What an agent's command socket is to the network. */
export interface AgentSide {
  readonly process: Process;
  readonly path: Path;
  readonly curveKey: Uint8Array;
  readonly configuration: NodeConfiguration;
  arrived(frames: readonly Buffer[]): void;
  tell(event: SocketEvent): void;
}
