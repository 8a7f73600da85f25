import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import { remoteOf, reset } from './socket.js';
import type { Stream, StreamEvents } from './stream-channel.js';

/** STOMP subprotocols of WebSocket, best first. */
export const SUBPROTOCOLS: readonly string[] = ['v12.stomp', 'v11.stomp', 'v10.stomp'];

const NORMAL = 1000;
const BINARY = { binary: true };

/** An open WebSocket over `socket`. Where messages begin and end means nothing. */
export class WebSocketStream implements Stream {
  readonly remote: string;
  readonly #webSocket: WebSocket;
  readonly #socket: Duplex;
  readonly #messageBytes: number;

  /** @param messageBytes What the peer takes at least in one message. */
  constructor(webSocket: WebSocket, socket: Duplex, messageBytes: number) {
    this.remote = remoteOf(socket as Socket);
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#messageBytes = messageBytes;
  }

  get pending(): number {
    return this.#webSocket.bufferedAmount;
  }

  get open(): boolean {
    return this.#webSocket.readyState === this.#webSocket.OPEN;
  }

  send(bytes: Uint8Array, taken: () => void): void {
    for (let at = 0; at < bytes.length; at += this.#messageBytes) {
      this.#webSocket.send(bytes.subarray(at, at + this.#messageBytes), BINARY, taken);
    }
  }

  pause(): void {
    this.#webSocket.pause();
  }

  resume(): void {
    this.#webSocket.resume();
  }

  finish(): void {
    this.#webSocket.close(NORMAL);
  }

  reset(): void {
    reset(this.#socket);
  }

  listen(events: StreamEvents): void {
    this.#webSocket.pause();
    this.#webSocket.on('message', (data: RawData) => events.data(data as Buffer));
    this.#webSocket.on('error', events.failed);
    this.#webSocket.on('close', events.closed);
  }
}
