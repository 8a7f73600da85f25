import { MusterError } from '../../errors.js';
import { readRefusal, receivedError } from '../../protocol/received-error.js';
import type { RawFrame } from '../../stomp/raw-frame.js';

/** Reads upstream's refusal of a frame, as the error that this relay's client gets. */
export function upstreamRefusal(raw: RawFrame): MusterError {
  return readRefusal(raw) ?? unknownCode(raw.header('message'));
}

/** The error that upstream names, for this relay's client. */
export function upstreamError(code: unknown, message: unknown, details: unknown): MusterError {
  return receivedError(code, details) ?? unknownCode(message);
}

/** Upstream is newer than this relay, and its code is unknown here: its words are passed on. */
function unknownCode(message: unknown): MusterError {
  return new MusterError('upstream_failed', { reason: typeof message === 'string' ? message : 'it did not say why' });
}
