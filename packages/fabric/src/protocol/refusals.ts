import type { MusterError } from '../errors.js';
import { bytesOf } from '../stomp/bytes.js';
import { encodeFrame } from '../stomp/encode.js';
import { frame, type Headers, type StompVersion } from '../stomp/frame.js';

/**
 * Destination of the MESSAGE by which relays, and clients that ask for it (`refusals:message`), learn that one of their
 * frames was refused. It needs no SUBSCRIBE.
 */
export const REFUSALS = '/temp-queue/refused';

/** What is refused: the frame that asked for this receipt, or a subscription that has ended. */
export interface Refused {
  readonly receipt: string | null;
  readonly subscription: string | null;
}

/** A MESSAGE instead of an ERROR, which would be the last frame of the connection. */
export function refusalFrame(
  error: MusterError,
  { receipt, subscription }: Refused,
  version: StompVersion,
): Uint8Array {
  const headers: Headers = [
    ['subscription', REFUSALS],
    ['destination', REFUSALS],
    ['message-id', '0'],
    ...(receipt === null ? [] : [['receipt-id', receipt] as const]),
    ...(subscription === null ? [] : [['refused', subscription] as const]),
    ['code', error.code],
    ['message', error.advice.replaceAll('\0', '\\0')],
  ];
  return encodeFrame(frame('MESSAGE', headers, bytesOf(JSON.stringify(error.details))), version);
}
