import { MusterError } from './errors.js';
import { Unfilled } from './template.js';

/** Characters of why something was not started. */
const REASON = 1000;

/** Why something is not started, in words; null: it may go better in a moment. */
export function reasonOf(error: unknown): string | null {
  if (error instanceof Unfilled) return error.message.slice(0, REASON);
  if (!(error instanceof MusterError) || error.code === 'store_unavailable') return null;
  return error.message.slice(0, REASON);
}
