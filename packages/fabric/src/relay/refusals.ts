import { MusterError } from '@muster/wire';
import type { RawFrame } from '../stomp/raw-frame.js';
import { readRefusal, toldError } from '../told-error.js';

/** What upstream says of a frame that it does not obey, as the error that the client of this relay gets. */
export function refusalAbove(raw: RawFrame): MusterError {
  return readRefusal(raw) ?? newer(raw.header('message'));
}

/** An error of upstream in the words that upstream has for it. */
export function toldAbove(code: unknown, message: unknown, details: unknown): MusterError {
  return toldError(code, details) ?? newer(message);
}

/** An upstream that is newer than this relay. */
function newer(message: unknown): MusterError {
  return new MusterError('upstream_failed', { reason: typeof message === 'string' ? message : 'it did not say why' });
}
