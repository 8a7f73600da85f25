import { ERRORS, type ErrorCode, type ErrorDetails, MusterError } from '@muster/wire/errors';
import { textOf } from './stomp/bytes.js';
import type { RawFrame } from './stomp/raw-frame.js';

/** What a peer says of a frame that it does not obey (a MESSAGE to `REFUSALS`). Null: as `toldError`. */
export function readRefusal(raw: RawFrame): MusterError | null {
  return toldError(raw.header('code'), parsed(textOf(raw.bytes, raw.bodyStart, raw.bodyEnd)));
}

/** An error of a peer, as it was there. Null: the peer is newer than we, and the code unknown here. */
export function toldError(code: unknown, details: unknown): MusterError | null {
  return isCode(code) ? new MusterError(code, usable(details)) : null;
}

function isCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(ERRORS, code);
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
