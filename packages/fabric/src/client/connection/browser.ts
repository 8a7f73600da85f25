import { type Clock, systemClock, type Timer } from '@muster/base/clock';
import { MusterError } from '../../errors.js';
import { FABRIC_LIMITS } from '../../limits.js';
import { bytesOf } from '../../stomp/bytes.js';
import type { Channel, ChannelHandlers } from '../../transport/channel.js';
import type { ConnectOptions } from '../../transport/options.js';

/** The part of the browser's WebSocket that is used here. */
interface WebSocketLike {
  binaryType: string;
  readonly bufferedAmount: number;
  onopen: (() => void) | null;
  onmessage: ((event: { readonly data: ArrayBuffer | string }) => void) | null;
  onerror: (() => void) | null;
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null;
  send(bytes: Uint8Array): void;
  close(code?: number): void;
}
type WebSocketConstructor = new (url: string, protocols: readonly string[]) => WebSocketLike;

const NORMAL = 1000;
const BEFORE_DONE = 1006;
/** Browsers do not tell when waiting bytes are sent: they are asked this often. */
const LOOK_MS = 50;

/** Connects with the WebSocket that browsers have. @throws MusterError `invalid_field`, `fabric_unreachable` */
export async function dialInBrowser(url: string, options: ConnectOptions, handlers: ChannelHandlers): Promise<Channel> {
  const { WebSocket } = globalThis as { WebSocket?: WebSocketConstructor };
  if (WebSocket === undefined || !/^wss?:/.test(url)) {
    throw new MusterError('invalid_field', {
      field: `address ${url}`,
      reason: 'here only ws:// and wss:// can be reached',
    });
  }
  if (options.tls !== undefined) {
    throw new MusterError('invalid_field', { field: 'tls', reason: 'browsers decide themselves whom to trust' });
  }
  const { clock = systemClock, timeoutMs = FABRIC_LIMITS.connectMs, signal } = options;
  const webSocket = new WebSocket(url, ['v12.stomp']);
  webSocket.binaryType = 'arraybuffer';
  return new Promise((resolve, reject) => {
    const settle = () => {
      timer.cancel();
      signal?.removeEventListener('abort', abort);
    };
    const fail = (reason: string) => {
      settle();
      webSocket.onopen = null;
      webSocket.onclose = null;
      webSocket.close();
      reject(new MusterError('fabric_unreachable', { url, reason }));
    };
    const abort = () => fail('it is not wanted any more');
    const timer = clock.after(timeoutMs, () => fail(`no answer within ${timeoutMs / 1000} s`));
    // `onclose` follows, and `onerror` tells nothing more.
    webSocket.onerror = () => {};
    // Browsers do not tell why, so that pages cannot look around in networks.
    webSocket.onclose = () => fail('the browser could not connect');
    webSocket.onopen = () => {
      settle();
      resolve(new BrowserChannel(url, webSocket, handlers, clock));
    };
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort);
  });
}

class BrowserChannel implements Channel {
  readonly remote: string;
  readonly #webSocket: WebSocketLike;
  readonly #handlers: ChannelHandlers;
  readonly #clock: Clock;
  #open = true;
  #looking: Timer | null = null;
  /** Bytes that came while paused, as browsers cannot stop reading. Null: not paused. */
  #received: Uint8Array[] | null = null;
  #receivedBytes = 0;

  constructor(url: string, webSocket: WebSocketLike, handlers: ChannelHandlers, clock: Clock) {
    this.remote = url;
    this.#webSocket = webSocket;
    this.#handlers = handlers;
    this.#clock = clock;
    webSocket.onmessage = ({ data }) => this.#data(typeof data === 'string' ? bytesOf(data) : new Uint8Array(data));
    webSocket.onclose = ({ code, reason }) => {
      const lost = code === BEFORE_DONE ? 'the connection was cut' : reason;
      this.#closed(lost === '' ? null : new Error(lost));
    };
  }

  get pending(): number {
    return this.#open ? this.#webSocket.bufferedAmount : 0;
  }

  write(bytes: Uint8Array): void {
    if (!this.#open) return;
    this.#webSocket.send(bytes);
    if (this.#webSocket.bufferedAmount > 0) this.#look();
  }

  pause(): void {
    this.#received ??= [];
  }

  resume(): void {
    const held = this.#received ?? [];
    this.#received = null;
    this.#receivedBytes = 0;
    // Held again if the first of them leads to another pause.
    for (const bytes of held) this.#data(bytes);
  }

  end(): void {
    this.#webSocket.close(NORMAL);
    this.#closed(null);
  }

  destroy(): void {
    this.end();
  }

  #data(bytes: Uint8Array): void {
    if (!this.#open) return;
    if (this.#received === null) return this.#handlers.data(bytes);
    this.#received.push(bytes);
    this.#receivedBytes += bytes.length;
    if (this.#receivedBytes <= FABRIC_LIMITS.clientBytes) return;
    const error = new MusterError('fabric_slow_subscriber', { limit: FABRIC_LIMITS.clientBytes });
    this.#webSocket.close(NORMAL);
    this.#closed(error);
  }

  #look(): void {
    this.#looking ??= this.#clock.after(LOOK_MS, () => {
      this.#looking = null;
      if (!this.#open) return;
      if (this.#webSocket.bufferedAmount > 0) this.#look();
      else this.#handlers.drained();
    });
  }

  #closed(error: Error | null): void {
    if (!this.#open) return;
    this.#open = false;
    this.#looking?.cancel();
    this.#handlers.closed(error);
  }
}
