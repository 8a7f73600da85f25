import { type Clock, declaredErrors, EXIT, type Timer } from '@muster/base';
import { MusterError } from '../../errors.js';
import type { TypeRules } from '../../event/access.js';
import { FABRIC_LIMITS } from '../../limits.js';
import { HeartBeat } from '../../protocol/heart-beat.js';
import { REFUSALS } from '../../protocol/refusals.js';
import { encodeFrame } from '../../stomp/encode.js';
import type { Frame } from '../../stomp/frame.js';
import { tailOf } from '../../stomp/message.js';
import { FrameParser } from '../../stomp/parser.js';
import type { RawFrame } from '../../stomp/raw-frame.js';
import type { Channel, ChannelHandlers } from '../../transport/channel.js';
import { upstreamRefusal } from './errors.js';
import { connectFrame, type HandshakeOptions, readConnected } from './handshake.js';
import { MATCH_ALL, matchAllTailStart, subscribeToAll } from './match-all.js';
import { type ReceiptHandler, UpstreamReceipts } from './receipts.js';

export interface UpstreamOptions extends HandshakeOptions {
  /** For an attempt to be ready, and for an answer to whatever was sent (F4). */
  readonly sendMs: number;
}

export interface UpstreamPorts {
  readonly clock: Clock;
  /** Opens the connection; rejects when that fails. */
  dial(handlers: ChannelHandlers): Promise<Channel>;
}

/** Why the connection has ended, unless we have ended it (`hangUp`). */
export type UpstreamEnd =
  /** It was never ready. */
  | { readonly type: 'unreachable'; readonly reason: string }
  | { readonly type: 'refused'; readonly reason: string }
  | { readonly type: 'lost'; readonly reason: string; readonly unconfirmed: boolean };

export interface UpstreamHandlers {
  /** Logged in, and the match-all subscription is confirmed: from here on every event comes. */
  ready(): void;
  /**
   * An event: the tail of its MESSAGE, valid during the call.
   *
   * @param raw Its frame, if the tail is all of it but the first header.
   */
  event(bytes: Uint8Array, start: number, end: number, raw: RawFrame | null): void;
  /** A MESSAGE of any other subscription. */
  message(subscription: string, raw: RawFrame): void;
  /** Upstream has ended a subscription that was forwarded to it. */
  refused(subscription: string, error: MusterError): void;
  /** A frame that only clients may send: dropped (B-7, O-14). */
  ignored(command: string): void;
  ended(end: UpstreamEnd): void;
}

/** Errors that end a session, not a login: whether that is still good is seen at the next attempt. */
const ENDS_OF_SESSIONS = new Set(['event_revoked', 'event_login_expired']);
/** Whether an ERROR before `ready` will not go away by itself. */
function isFinal(code: string): boolean {
  return declaredErrors().get(code)?.exit === EXIT.denied && !ENDS_OF_SESSIONS.has(code);
}

/**
 * One connection upstream, from the attempt to its end; the next attempt is another one. It registers one match-all
 * subscription (B-1), sends what it is given once and never again, and takes nothing from above but MESSAGE,
 * RECEIPT and ERROR (B-7).
 */
export class Upstream {
  readonly #options: UpstreamOptions;
  readonly #clock: Clock;
  readonly #handlers: UpstreamHandlers;
  readonly #parser: FrameParser;
  readonly #receipts: UpstreamReceipts;
  readonly #readyTimer: Timer;
  #channel: Channel | null = null;
  #heartBeat: HeartBeat | null = null;
  #phase: 'opening' | 'ready' | 'ended' = 'opening';
  /** Largest event that it takes, as far as it said. */
  #maxEventBytes = Number.POSITIVE_INFINITY;
  /** What our login may follow, as far as it said. */
  #follow: TypeRules | null = null;

  constructor(options: UpstreamOptions, { clock, dial }: UpstreamPorts, handlers: UpstreamHandlers) {
    const { sendMs } = options;
    this.#options = options;
    this.#clock = clock;
    this.#handlers = handlers;
    this.#parser = new FrameParser(
      {
        // Upstream may allow larger events than clients of this relay may publish.
        headBytes: FABRIC_LIMITS.clientFrameBytes,
        bodyBytes: FABRIC_LIMITS.clientFrameBytes,
        headers: 2 * FABRIC_LIMITS.headers,
        headerNameBytes: FABRIC_LIMITS.headerNameBytes,
      },
      { frame: (raw) => this.#frame(raw) },
    );
    this.#receipts = new UpstreamReceipts(clock, sendMs, () =>
      this.#end(`it did not answer within ${sendMs / 1000} s`),
    );
    this.#readyTimer = clock.after(sendMs, () => this.#end(`it was not ready within ${sendMs / 1000} s`));
    dial({
      data: (bytes) => this.#data(bytes),
      drained() {},
      closed: (error) => this.#end(error === null ? 'it closed the connection' : error.message),
    })
      .then((channel) => this.#opened(channel))
      .catch((error: unknown) => this.#end(error instanceof Error ? error.message : String(error)));
  }

  /** Bytes that were sent and that the system has not taken yet. */
  get pending(): number {
    return this.#channel?.pending ?? 0;
  }

  get ready(): boolean {
    return this.#phase === 'ready';
  }

  get maxEventBytes(): number {
    return this.#maxEventBytes;
  }

  get follow(): TypeRules | null {
    return this.#follow;
  }

  /** @returns the id of a receipt, to be asked for in the frame that is sent next. */
  expect(answer: ReceiptHandler): string {
    return this.#receipts.add(answer);
  }

  /** Whole frames. They go out once, or never when the connection ends. */
  send(bytes: Uint8Array): void {
    if (this.#phase === 'ended') return;
    this.#heartBeat?.wrote();
    this.#channel?.write(bytes);
  }

  sendFrame(made: Frame): void {
    this.send(encodeFrame(made));
  }

  /** Cuts the connection, so that nothing that waits to be sent arrives later. */
  hangUp(reason: string): void {
    if (this.#phase === 'ended') return;
    this.#phase = 'ended';
    this.#readyTimer.cancel();
    this.#heartBeat?.stop();
    this.#parser.stop();
    this.#channel?.destroy();
    this.#receipts.fail(new MusterError('upstream_failed', { reason }));
  }

  #opened(channel: Channel): void {
    if (this.#phase === 'ended') return channel.destroy();
    this.#channel = channel;
    this.sendFrame(connectFrame(this.#options));
  }

  #data(bytes: Uint8Array): void {
    this.#heartBeat?.heard();
    try {
      this.#parser.push(bytes);
    } catch (error) {
      if (!(error instanceof MusterError)) throw error;
      this.#end(error.message);
    }
  }

  #frame(raw: RawFrame): void {
    switch (raw.command) {
      case 'MESSAGE':
        return this.#message(raw);
      case 'RECEIPT': {
        const id = raw.header('receipt-id');
        if (id === undefined || !this.#receipts.answer(id, raw)) this.#handlers.ignored('RECEIPT');
        return;
      }
      case 'CONNECTED':
        return this.#connected(raw);
      case 'ERROR':
        return this.#errorFrame(raw);
      default:
        this.#handlers.ignored(raw.command);
    }
  }

  #message(raw: RawFrame): void {
    if (this.#phase !== 'ready') {
      return raw.header('subscription') === REFUSALS ? this.#refusedFrame(raw) : this.#handlers.ignored('MESSAGE');
    }
    const start = matchAllTailStart(raw);
    if (start >= 0) return this.#handlers.event(raw.bytes, start, raw.end, raw);
    const subscription = raw.header('subscription') ?? '';
    if (subscription === REFUSALS) return this.#refusedFrame(raw);
    if (subscription !== MATCH_ALL) return this.#handlers.message(subscription, raw);
    const tail = tailOf(raw);
    this.#handlers.event(tail, 0, tail.length, null);
  }

  /** Upstream refuses one of our frames: the client that it was sent for is told. */
  #refusedFrame(raw: RawFrame): void {
    const error = upstreamRefusal(raw);
    const receipt = raw.header('receipt-id');
    const subscription = raw.header('refused');
    if (receipt !== undefined && this.#receipts.refuse(receipt, error)) return;
    if (subscription !== undefined) this.#handlers.refused(subscription, error);
    else this.#handlers.ignored('MESSAGE');
  }

  #connected(raw: RawFrame): void {
    if (this.#phase !== 'opening' || this.#heartBeat !== null) return this.#handlers.ignored('CONNECTED');
    const greeted = readConnected(raw, this.#options);
    if (typeof greeted === 'string') return this.#end(greeted, true);
    this.#maxEventBytes = greeted.maxEventBytes;
    this.#follow = greeted.follow;
    this.#heartBeat = new HeartBeat(
      {
        clock: this.#clock,
        write: (bytes) => this.#channel?.write(bytes),
        silent: () => this.#end('it was silent for too long'),
      },
      greeted.heartBeat,
    );
    const receipt = this.expect({
      isEvent: false,
      answered: () => this.#subscribed(),
      refused: (error) => this.#end(error.message, isFinal(error.code)),
      failed() {},
    });
    this.sendFrame(subscribeToAll(receipt));
  }

  #subscribed(): void {
    this.#phase = 'ready';
    this.#readyTimer.cancel();
    this.#handlers.ready();
  }

  #errorFrame(raw: RawFrame): void {
    const reason = raw.header('message') ?? 'it answered ERROR';
    const code = raw.header('code');
    // Other brokers have no codes; what they say before CONNECTED is about the login.
    const final = code === undefined ? this.#heartBeat === null : isFinal(code);
    this.#end(reason, final && this.#phase === 'opening');
  }

  #end(reason: string, refused = false): void {
    if (this.#phase === 'ended') return;
    const wasReady = this.#phase === 'ready';
    const unconfirmed = this.#receipts.awaitsEvents;
    this.hangUp(reason);
    if (wasReady) this.#handlers.ended({ type: 'lost', reason, unconfirmed });
    else this.#handlers.ended({ type: refused ? 'refused' : 'unreachable', reason });
  }
}
