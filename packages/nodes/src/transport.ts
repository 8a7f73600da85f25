import type { Frames } from '@muster/wire';
import type { CloseCause } from './zmtp/listener.js';

/** The encrypted pair of sockets, or the unencrypted one for spec 1.0 agents (N1). */
export type SocketChannel = 'curve' | 'plain';

/** Over which a node is spoken to; `local`: its agent is in this process. */
export type Channel = SocketChannel | 'local';

/** One connection to the command socket. It says nothing about who is at the other end until a message verified. */
export interface Peer {
  readonly channel: Channel;
  readonly identity: Uint8Array;
}

export interface Endpoints {
  readonly heartbeat: string;
  readonly command: string;
  /** Z85, new at every start. */
  readonly curvePublicKey: string;
  /** The unencrypted pair, when configured. */
  readonly plain: { readonly heartbeat: string; readonly command: string } | null;
}

/** Why a message to a node was not sent; the label of `muster_sends_dropped_total`. */
export type SendDropCause =
  /** No connection is known for the node, or it has no form in the node's dialect. */
  | 'not_connected'
  | 'no_form'
  /** The peer's own queue is full. */
  | 'peer_busy'
  /** The peer has gone. */
  | 'unreachable'
  /** More is waiting for the socket than the outbox takes. */
  | 'outbox_full';

export interface Handlers {
  /** Everything that arrives on a command socket, as frames, the peer's identity first. Must not throw. */
  received(channel: Channel, frames: readonly Uint8Array[]): void;
  /** Whether a CURVE key (32 bytes) may connect now. */
  admits(curveKey: Uint8Array): boolean;
  sendDropped(cause: SendDropCause): void;
  /** A connection was closed from here. `from`: an address, of IPv6 its network. */
  connectionClosed(cause: CloseCause, from: string, why: string): void;
}

/** The network as the nodes layer sees it. ZeroMQ in production, memory in the simulator. */
export interface Transport {
  /** @throws MusterError `address_in_use`. */
  start(handlers: Handlers): Promise<Endpoints>;
  /**
   * Never blocks and never throws. `seal` runs when the message's turn has come, so that sequence numbers follow the
   * order of sending and a large body exists once; null takes the message back.
   */
  send(peer: Peer, seal: () => Frames | null): void;
  publish(channel: SocketChannel, frames: Frames): void;
  /** Closes this connection, if it still stands. Whoever it was may come again, as far as `admits` lets it. */
  hangUp(peer: Peer): void;
  stop(): Promise<void>;
}

/** A connection as a key of a map. */
export function peerKey(channel: Channel, identity: Uint8Array): string {
  return `${channel}:${Buffer.from(identity.buffer, identity.byteOffset, identity.byteLength).toString('latin1')}`;
}
