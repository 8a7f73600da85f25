import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '@muster/wire/clock';
import type { RawData, WebSocket } from 'ws';
import type { Channel, ChannelHandlers } from '../channel.js';
import { FABRIC_LIMITS } from '../limits.js';
import { remoteOf, reset } from './socket.js';

/** STOMP subprotocols of WebSocket, best first. */
export const SUBPROTOCOLS: readonly string[] = ['v12.stomp', 'v11.stomp', 'v10.stomp'];

const NORMAL = 1000;

/** An open WebSocket over `socket`; it is not read before `attach`. Where messages begin and end means nothing. */
export class WebSocketChannel implements Channel {
  readonly remote: string;
  readonly #webSocket: WebSocket;
  readonly #socket: Duplex;
  readonly #clock: Clock;
  readonly #messageBytes: number;
  #handlers: ChannelHandlers | null = null;
  #paused = false;
  #waiting = false;
  #ending = false;
  #gone = false;
  #error: Error | null = null;
  #linger: Timer | null = null;

  /** @param messageBytes What the peer takes at least in one message. */
  constructor(webSocket: WebSocket, socket: Duplex, clock: Clock, messageBytes: number) {
    this.remote = remoteOf(socket as Socket);
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#clock = clock;
    this.#messageBytes = messageBytes;
    webSocket.pause();
    webSocket.on('error', (error) => (this.#error ??= error));
    webSocket.on('close', () => this.#closed());
  }

  /** From now on everything is told, also what has happened already. */
  attach(handlers: ChannelHandlers): void {
    this.#handlers = handlers;
    this.#webSocket.on('message', (data: RawData) => {
      if (!this.#ending) handlers.data(data as Buffer);
    });
    if (!this.#paused) this.#webSocket.resume();
    this.#written();
    if (this.#gone) this.#closed();
  }

  get pending(): number {
    return this.#webSocket.bufferedAmount;
  }

  write(bytes: Uint8Array): void {
    if (this.#ending || this.#webSocket.readyState !== this.#webSocket.OPEN) return;
    for (let at = 0; at < bytes.length; at += this.#messageBytes) {
      this.#webSocket.send(bytes.subarray(at, at + this.#messageBytes), BINARY, this.#written);
    }
    if (this.#webSocket.bufferedAmount > 0) this.#waiting = true;
  }

  pause(): void {
    this.#paused = true;
    this.#webSocket.pause();
  }

  resume(): void {
    this.#paused = false;
    if (!this.#ending && this.#handlers !== null) this.#webSocket.resume();
  }

  end(): void {
    if (this.#ending) return;
    this.#ending = true;
    this.#webSocket.close(NORMAL);
    this.#webSocket.resume();
    this.#linger = this.#clock.after(FABRIC_LIMITS.lingerMs, () => reset(this.#socket));
  }

  destroy(): void {
    this.#ending = true;
    reset(this.#socket);
  }

  readonly #written = (): void => {
    if (!this.#waiting || this.#webSocket.bufferedAmount > 0) return;
    this.#waiting = false;
    if (!this.#ending && this.#webSocket.readyState === this.#webSocket.OPEN) this.#handlers?.drained();
  };

  #closed(): void {
    this.#gone = true;
    this.#linger?.cancel();
    // By `attach`, that is.
    if (this.#handlers === null) return;
    const error = this.#ending ? null : this.#error;
    this.#ending = true;
    this.#handlers.closed(error);
  }
}

const BINARY = { binary: true };
