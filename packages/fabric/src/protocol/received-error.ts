import { type ErrorDetails, isErrorCode } from '@muster/base/errors';
import { MusterError } from '../errors.js';
import { textOf } from '../stomp/bytes.js';
import type { RawFrame } from '../stomp/raw-frame.js';

/** Reads a refusal (a MESSAGE to `REFUSALS`) as the error that it was at the peer. Null: its code is unknown here. */
export function readRefusal(raw: RawFrame): MusterError | null {
  return receivedError(raw.header('code'), parsed(textOf(raw.bytes, raw.bodyStart, raw.bodyEnd)));
}

/**
 * Makes the error that it was at the peer from its code and details. Null: the code is unknown here, as the peer is
 * newer.
 */
export function receivedError(code: unknown, details: unknown): MusterError | null {
  return isErrorCode(code) ? MusterError.told(code, usable(details)) : null;
}

function usable(details: unknown): ErrorDetails {
  if (typeof details !== 'object' || details === null) return {};
  const entries = Object.entries(details);
  return Object.fromEntries(entries.filter(([, value]) => typeof value === 'string' || typeof value === 'number'));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The code alone says what was wrong.
    return null;
  }
}
