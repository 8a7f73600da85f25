import { MusterError } from '@muster/wire';
import { FABRIC_LIMITS } from '../limits.js';
import { concat } from '../stomp/encode.js';
import { EMPTY_BODY, type Frame } from '../stomp/frame.js';
import { FrameParser, type ParserLimits } from '../stomp/parser.js';
import type { EventLimit } from './context.js';

/** Reads the first frame of a client, and keeps what it sends without waiting for the answer. */
export class Reception {
  readonly #parser: FrameParser;
  #over = false;
  #early: Uint8Array = EMPTY_BODY;

  /** @param first Told of the first frame. */
  constructor(first: (frame: Frame) => void) {
    const limits = { ...parserLimits(0), headBytes: FABRIC_LIMITS.openingFrameBytes, bodyBytes: 0 };
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

  /** Of any other frame than CONNECT the limits do not matter: it has no place here, however small. */
  #push(bytes: Uint8Array): number {
    try {
      return this.#parser.push(bytes);
    } catch (error) {
      const command = error instanceof MusterError && !this.#over ? error.details.command : undefined;
      if (command === undefined || command === 'CONNECT' || command === 'STOMP') throw error;
      throw new MusterError('stomp_not_connected', { command }, { cause: error });
    }
  }

  /** What came after the first frame. */
  get early(): Uint8Array {
    return this.#early;
  }

  #keep(bytes: Uint8Array): void {
    const most = FABRIC_LIMITS.openingFrameBytes;
    if (this.#early.length + bytes.length > most) {
      throw new MusterError('stomp_too_large', { command: 'CONNECT', what: 'rest after', limit: `${most} bytes` });
    }
    this.#early = concat([this.#early, bytes]);
  }
}

export function parserLimits(eventBytes: number): ParserLimits {
  return {
    // Beyond the event's own lines there are a few of the protocol.
    headBytes: Math.max(FABRIC_LIMITS.headBytes, 2 * eventBytes),
    // Whoever allows only small events must understand relays all the same: a frame that is too large ends their connection.
    bodyBytes: Math.max(eventBytes, FABRIC_LIMITS.loginBytes),
    headers: FABRIC_LIMITS.headers,
    headerNameBytes: FABRIC_LIMITS.headerNameBytes,
  };
}

/** A body that is too large says what could be set otherwise: of no other limit can that be said. */
export function namingSetting(error: unknown, { bytes, setting }: EventLimit): unknown {
  if (!(error instanceof MusterError) || error.code !== 'stomp_too_large' || error.details.what !== 'body')
    return error;
  return new MusterError(
    'stomp_too_large',
    { ...error.details, limit: `${bytes} bytes (${setting})` },
    { cause: error },
  );
}
