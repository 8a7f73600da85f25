import { MusterError } from '../errors.js';
import { FABRIC_LIMITS } from '../limits.js';
import { concat } from '../stomp/encode.js';
import { EMPTY_BODY, type Frame } from '../stomp/frame.js';
import { FrameParser, type ParserLimits } from '../stomp/parser.js';
import type { EventLimit } from './context.js';

/** Reads CONNECT, and keeps what the client sends after it without waiting for CONNECTED (pipelining). */
export class ConnectReader {
  readonly #parser: FrameParser;
  #over = false;
  #pipelined: Uint8Array = EMPTY_BODY;

  /** @param first Called with the first frame. */
  constructor(first: (frame: Frame) => void) {
    const limits = { ...parserLimits(0), headBytes: FABRIC_LIMITS.connectFrameBytes, bodyBytes: 0 };
    this.#parser = new FrameParser(limits, {
      frame: (raw) => {
        this.#over = true;
        this.#parser.stop();
        first(raw.frame());
      },
    });
  }

  /** @throws MusterError `stomp_*` */
  read(bytes: Uint8Array): void {
    const taken = this.#over ? 0 : this.#push(bytes);
    if (taken < bytes.length) this.#keep(bytes.subarray(taken));
  }

  /** Any other first frame than CONNECT is refused as such, also when it is too large for this parser. */
  #push(bytes: Uint8Array): number {
    try {
      return this.#parser.push(bytes);
    } catch (error) {
      const command = error instanceof MusterError && !this.#over ? error.details.command : undefined;
      if (command === undefined || command === 'CONNECT' || command === 'STOMP') throw error;
      throw new MusterError('stomp_not_connected', { command }, { cause: error });
    }
  }

  /** The bytes after the first frame. */
  get pipelined(): Uint8Array {
    return this.#pipelined;
  }

  #keep(bytes: Uint8Array): void {
    const most = FABRIC_LIMITS.connectFrameBytes;
    if (this.#pipelined.length + bytes.length > most) {
      throw new MusterError('stomp_too_large', { command: 'CONNECT', what: 'rest after', limit: `${most} bytes` });
    }
    this.#pipelined = concat([this.#pipelined, bytes]);
  }
}

export function parserLimits(eventBytes: number): ParserLimits {
  return {
    // Beyond the event's own lines there are a few of the protocol.
    headBytes: Math.max(FABRIC_LIMITS.headBytes, 2 * eventBytes),
    // Whoever allows only small events must understand relays all the same: a frame that is too large ends their
    // connection.
    bodyBytes: Math.max(eventBytes, FABRIC_LIMITS.loginBytes),
    headers: FABRIC_LIMITS.headers,
    headerNameBytes: FABRIC_LIMITS.headerNameBytes,
  };
}

/** A parser's error, in words for a client that has logged in. */
export function connectedClientError(error: unknown, limit: EventLimit): unknown {
  if (!(error instanceof MusterError)) return error;
  const { code, details } = error;
  // It has spoken STOMP before, so that neither another protocol nor TLS can be what is wrong.
  if (code === 'stomp_not_stomp') return MusterError.told('stomp_unknown_command', details, { cause: error });
  // Of no other limit can be said what could be set otherwise.
  if (code !== 'stomp_too_large' || details.what !== 'body') return error;
  const named = `${limit.bytes} bytes (${limit.setting})`;
  return MusterError.told(code, { ...details, limit: named }, { cause: error });
}
