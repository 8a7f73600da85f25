import type { Clock, Timer } from '@muster/base/clock';
import { MusterError } from '../../errors.js';
import { FABRIC_LIMITS } from '../../limits.js';
import { HeartBeat } from '../../protocol/heart-beat.js';
import { REFUSALS } from '../../protocol/refusals.js';
import { encodeFrame } from '../../stomp/encode.js';
import { frame, type Headers } from '../../stomp/frame.js';
import { FrameParser } from '../../stomp/parser.js';
import type { RawFrame } from '../../stomp/raw-frame.js';
import type { Channel } from '../../transport/channel.js';
import type { ConnectOptions } from '../../transport/options.js';
import { checkPasscode } from '../check-options.js';
import type { Dial } from '../types.js';
import { ClientReceipts, type ReceiptHandler } from './client-receipts.js';
import { isFinal, refusalError, serverError } from './server-error.js';

export interface ConnectionOptions {
  readonly url: string;
  readonly host: string;
  readonly login: string;
  readonly passcode: () => string | Promise<string>;
  readonly heartBeatMs: number;
  readonly timeoutMs: number;
  readonly tls: ConnectOptions['tls'];
  readonly clock: Clock;
  readonly dial: Dial;
}

export interface ConnectionHandlers {
  connected(): void;
  message(subscription: string, raw: RawFrame): void;
  /**
   * The server refuses a frame that asked for no receipt, or has ended that subscription. False: the connection must
   * end, as it does with servers that know no refusals.
   */
  refused(error: MusterError, subscription: string | null): boolean;
  /** Once; not after `destroy`. `final`: another attempt would fail as well. */
  ended(error: MusterError, final: boolean): void;
}

const PARSER_LIMITS = {
  headBytes: FABRIC_LIMITS.clientFrameBytes,
  bodyBytes: FABRIC_LIMITS.clientFrameBytes,
  headers: 2 * FABRIC_LIMITS.headers,
  headerNameBytes: FABRIC_LIMITS.headerNameBytes,
};

const CLOSED = 'it was closed';

/** One connection to a server or relay, from the attempt to its end; the next attempt is another one. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #handlers: ConnectionHandlers;
  readonly #parser = new FrameParser(PARSER_LIMITS, { frame: (raw) => this.#frame(raw) });
  readonly #receipts: ClientReceipts;
  readonly #attempt = new AbortController();
  readonly #loginTimer: Timer;
  /** `opening`: until CONNECTED. `leaving`: the program wants no more. */
  #phase: 'opening' | 'connected' | 'leaving' | 'ended' = 'opening';
  #channel: Channel | null = null;
  #heartBeat: HeartBeat | null = null;
  #reading = true;
  #left: (() => void) | null = null;
  /** Resolve `room`. */
  #waiting: (() => void)[] = [];

  constructor(options: ConnectionOptions, handlers: ConnectionHandlers) {
    const { clock, timeoutMs } = options;
    this.#options = options;
    this.#handlers = handlers;
    this.#receipts = new ClientReceipts(clock, FABRIC_LIMITS.answerMs, () =>
      this.#end(`it did not answer within ${FABRIC_LIMITS.answerMs / 1000} s`),
    );
    this.#loginTimer = clock.after(timeoutMs, () => this.#end(`no login within ${timeoutMs / 1000} s`));
    this.#open().catch((error: unknown) => this.#end(error));
  }

  get pendingReceipts(): number {
    return this.#receipts.size;
  }

  /** Sends a frame. With an answer, its receipt is asked for. Not after the end. */
  send(command: string, headers: Headers, body?: Uint8Array, answer?: ReceiptHandler): void {
    if (this.#phase === 'ended') return answer?.lost('it has ended');
    const all: Headers = answer === undefined ? headers : [...headers, ['receipt', this.#receipts.nextId]];
    // Throws for what cannot be written; then no receipt is awaited.
    const bytes = encodeFrame(frame(command, all, body));
    if (answer !== undefined) this.#receipts.add(answer);
    this.#heartBeat?.wrote();
    this.#channel?.write(bytes);
  }

  /** Resolves when so much is taken by the system that more may be sent; null: right now. */
  room(): Promise<void> | null {
    if (this.#channel === null || this.#channel.pending < FABRIC_LIMITS.clientPendingBytes) return null;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Starts or stops reading from the connection; at first it is read. */
  reads(reading: boolean): void {
    if (reading === this.#reading) return;
    this.#reading = reading;
    if (reading) {
      this.#heartBeat?.resume();
      this.#channel?.resume();
    } else {
      this.#heartBeat?.pause();
      this.#channel?.pause();
    }
  }

  /** Says goodbye and waits until everything that was sent is dealt with, for a while. */
  leave(): Promise<void> {
    if (this.#phase !== 'connected') {
      this.destroy();
      return Promise.resolve();
    }
    this.#phase = 'leaving';
    this.reads(true);
    return new Promise((resolve) => {
      const timer = this.#options.clock.after(FABRIC_LIMITS.lingerMs, () => this.destroy());
      this.#left = () => {
        timer.cancel();
        resolve();
      };
      const gone = () => {
        this.#channel?.end();
        this.#over(CLOSED);
      };
      this.send('DISCONNECT', [], undefined, { answered: gone, refused: gone, lost: () => {} });
    });
  }

  /** At once; nothing is told. */
  destroy(reason = CLOSED): void {
    if (this.#phase === 'ended') return;
    this.#channel?.destroy();
    this.#over(reason);
  }

  #over(reason: string): void {
    this.#phase = 'ended';
    this.#loginTimer.cancel();
    this.#heartBeat?.stop();
    this.#parser.stop();
    this.#attempt.abort();
    this.#receipts.lost(reason);
    this.#drained();
    this.#left?.();
  }

  async #open(): Promise<void> {
    const { url, dial, clock, timeoutMs, tls, login, passcode, host, heartBeatMs } = this.#options;
    const secret = await askPasscode(passcode, url);
    // It was given up meanwhile.
    if (this.#attempt.signal.aborted) return;
    checkPasscode(secret);
    const channel = await dial(
      url,
      { clock, timeoutMs, signal: this.#attempt.signal, ...(tls !== undefined && { tls }) },
      {
        data: (bytes) => this.#data(bytes),
        drained: () => this.#drained(),
        closed: (error) => this.#end(error ?? 'it was closed by the other side'),
      },
    );
    this.#channel = channel;
    if (this.#phase === 'ended') return channel.destroy();
    this.send('CONNECT', [
      ['accept-version', '1.2'],
      ['host', host],
      ['login', login],
      ['passcode', secret],
      ['heart-beat', `${heartBeatMs},${heartBeatMs}`],
      // One refused frame must not end all subscriptions. Servers that do not know this header answer ERROR, as usual.
      ['refusals', 'message'],
    ]);
  }

  #drained(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #data(bytes: Uint8Array): void {
    if (this.#phase === 'ended') return;
    this.#heartBeat?.heard();
    try {
      this.#parser.push(bytes);
    } catch (error) {
      this.#end(error);
      // Not a frame but a callback of the program has failed.
      if (!(error instanceof MusterError)) throw error;
    }
  }

  #frame(raw: RawFrame): void {
    switch (raw.command) {
      case 'MESSAGE':
        return this.#message(raw);
      case 'RECEIPT':
        return this.#receipts.answered(raw.headers());
      case 'CONNECTED':
        return this.#connected(raw);
      case 'ERROR':
        return this.#errorFrame(raw.headers());
      default:
        throw new MusterError('stomp_invalid_frame', { command: raw.command, reason: 'is for servers only' });
    }
  }

  #message(raw: RawFrame): void {
    const subscription = raw.header('subscription') ?? '';
    if (subscription === REFUSALS) return this.#refusedFrame(raw);
    if (this.#phase === 'connected') this.#handlers.message(subscription, raw);
  }

  /** The server refuses one of our frames, and the connection goes on. */
  #refusedFrame(raw: RawFrame): void {
    const error = refusalError(raw);
    const ended = raw.header('refused') ?? null;
    this.#receipts.refused(raw.headers(), error);
    if (this.#phase !== 'connected' || (ended === null && raw.header('receipt-id') !== undefined)) return;
    if (!this.#handlers.refused(error, ended)) this.#fail(error, false);
  }

  #connected(raw: RawFrame): void {
    const version = raw.header('version') ?? '1.0';
    if (this.#phase !== 'opening' || version !== '1.2') {
      throw new MusterError('stomp_invalid_frame', { command: 'CONNECTED', reason: `has version ${version}, not 1.2` });
    }
    const { clock, heartBeatMs } = this.#options;
    const [theirs = 0, wanted = 0] = (raw.header('heart-beat') ?? '0,0').split(',').map(Number);
    this.#phase = 'connected';
    this.#loginTimer.cancel();
    this.#heartBeat = new HeartBeat(
      {
        clock,
        write: (bytes) => this.#channel?.write(bytes),
        silent: () => this.#end('nothing was heard from it for too long'),
      },
      {
        sendMs: agreed(heartBeatMs, wanted),
        patienceMs: FABRIC_LIMITS.missedIntervals * agreed(heartBeatMs, theirs),
      },
    );
    this.#handlers.connected();
  }

  #errorFrame(headers: Headers): void {
    const error = serverError(headers);
    const final = isFinal(error, this.#phase === 'opening');
    this.#receipts.refused(headers, error);
    this.#fail(error, final);
  }

  #end(cause: unknown): void {
    if (cause instanceof MusterError) return this.#fail(cause, cause.code === 'invalid_field');
    const reason = cause instanceof Error ? cause.message : String(cause);
    this.#fail(new MusterError('fabric_lost', { url: this.#options.url, reason }), false);
  }

  #fail(error: MusterError, final: boolean): void {
    if (this.#phase === 'ended') return;
    const tell = this.#phase !== 'leaving';
    this.destroy(error.message);
    if (tell) this.#handlers.ended(error, final);
  }
}

/** @throws MusterError `fabric_passcode` */
async function askPasscode(passcode: ConnectionOptions['passcode'], url: string): Promise<unknown> {
  try {
    return await passcode();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new MusterError('fabric_passcode', { url, reason }, { cause: error });
  }
}

/** STOMP 1.2, "Heart-beating": the slower of both, or none at all. */
function agreed(oneMs: number, otherMs: number): number {
  return oneMs > 0 && otherMs > 0 ? Math.max(oneMs, otherMs) : 0;
}
