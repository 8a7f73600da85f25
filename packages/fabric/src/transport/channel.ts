/**
 * A byte stream to one peer: TCP, TLS or WebSocket, or a virtual one in tests. Whoever opens it gives the handlers;
 * nothing is told before the opener returned.
 */
export interface Channel {
  /** Where the peer is, for logs and metrics: `127.0.0.1:50112`. */
  readonly remote: string;
  /** Bytes that were written and that the system has not taken yet. */
  readonly pending: number;
  /** Never throws; after the end it does nothing. The bytes must not be changed afterwards. */
  write(bytes: Uint8Array): void;
  /** No more `data` until `resume`. */
  pause(): void;
  resume(): void;
  /** Sends what was written, then closes; cut off after `FABRIC_LIMITS.lingerMs`. */
  end(): void;
  /** Closes at once (TCP: with a reset); what was not sent is lost. */
  destroy(): void;
}

export interface ChannelHandlers {
  /** The bytes are not changed any more, so that they may be kept. */
  data(bytes: Uint8Array): void;
  /** Everything that was written has been taken by the system. */
  drained(): void;
  /** Once, also after `end` and `destroy`. Null: the peer closed, or we did. */
  closed(error: Error | null): void;
}

/** Takes an accepted connection. */
export type Accept = (channel: Channel) => ChannelHandlers;

export interface Listener {
  /** As bound: a port of 0 has become a real one. `stomp://127.0.0.1:61613`. */
  readonly url: string;
  /** Takes no more connections; those there are stay. */
  close(): Promise<void>;
}
