import type { MusterError } from '@muster/wire';
import { bytesOf } from '../stomp/bytes.js';
import { encodeFrame } from '../stomp/encode.js';
import { frame, type Headers, type StompVersion } from '../stomp/frame.js';

/** Where relays, and others who ask for it, hear that a frame of theirs was not obeyed; no SUBSCRIBE is needed. */
export const REFUSALS = '/temp-queue/refused';

/** What was not obeyed: a frame, by its receipt, or a subscription that has ended for it. */
export interface Refused {
  readonly receipt: string | null;
  readonly subscription: string | null;
}

/** Instead of an ERROR, which is the last frame of a connection. */
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
