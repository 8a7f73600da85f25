import { ERRORS, type ErrorCode, type ErrorDetails, MusterError } from '@muster/wire';
import { textOf } from '../stomp/bytes.js';
import type { RawFrame } from '../stomp/raw-frame.js';

/** What upstream says of a frame that it does not obey, as the error that the client of this relay gets. */
export function readRefusal(raw: RawFrame): MusterError {
  const body = textOf(raw.bytes, raw.bodyStart, raw.bodyEnd);
  return toldAbove(raw.header('code'), raw.header('message'), parsed(body));
}

/** An error of upstream in the words that upstream has for it. */
export function toldAbove(code: unknown, message: unknown, details: unknown): MusterError {
  if (isCode(code)) return new MusterError(code, usable(details));
  // An upstream that is newer than this relay.
  return new MusterError('upstream_failed', { reason: typeof message === 'string' ? message : 'it did not say why' });
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
