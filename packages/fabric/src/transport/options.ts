import type { Clock } from '@muster/base/clock';

export interface ConnectOptions {
  /** For name lookup, connection, TLS and WebSocket handshake together. Default: `FABRIC_LIMITS.connectMs`. */
  readonly timeoutMs?: number;
  readonly tls?: {
    /** PEM of whom to trust instead of the well-known authorities. */
    readonly ca?: string;
    /** Name that the certificate must have. Default: the host of the address. */
    readonly serverName?: string;
    /** False: anybody may pretend to be the server. Default true. */
    readonly verify?: boolean;
  };
  /** Gives up while connecting. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

export interface ListenOptions {
  /** PEM texts; needed for `stomp+tls` and `wss`. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Allows to listen without TLS where others than this machine can connect. */
  readonly insecure?: boolean;
  /** Of a `stomp+unix` socket, who may connect besides its owner: nobody (default), or this group. */
  readonly group?: number;
  /** Of one WebSocket message; a larger one ends its connection. Default: `FABRIC_LIMITS.webSocketMessageBytes`. */
  readonly maxMessageBytes?: number;
  /** Hears of connections that failed before they were accepted: for logs and counters. */
  readonly refused?: (error: Error, remote: string) => void;
  readonly clock?: Clock;
}
