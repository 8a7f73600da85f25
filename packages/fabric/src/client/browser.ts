import { type Clock, systemClock, type Timer } from '@muster/wire/clock';
import { MusterError } from '@muster/wire/errors';
import type { Channel, ChannelHandlers } from '../channel.js';
import { FABRIC_LIMITS } from '../limits.js';
import { bytesOf } from '../stomp/bytes.js';
import type { ConnectOptions } from '../transport/options.js';

/** What we use of the browser's own. */
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
/** A browser does not tell when it has sent what waits; it is asked that often then. */
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
    // It closes as well; and nothing is told here that is not told there.
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
  /** What came while it is paused: a browser reads on. Null: not paused. */
  #held: Uint8Array[] | null = null;
  #heldBytes = 0;

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
    this.#held ??= [];
  }

  resume(): void {
    const held = this.#held ?? [];
    this.#held = null;
    this.#heldBytes = 0;
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
    if (this.#held === null) return this.#handlers.data(bytes);
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    if (this.#heldBytes <= FABRIC_LIMITS.clientBytes) return;
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
