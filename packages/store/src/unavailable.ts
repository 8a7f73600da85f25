import { MusterError } from './errors.js';

/** The refusal that a caller gets while the database cannot be used. */
export function unavailable(reason: string, cause?: unknown): MusterError {
  return new MusterError('store_unavailable', { reason }, { cause });
}

/** What an error says; never empty. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== '') return error.message;
  // Node's AggregateError of a refused connection has only a code.
  return 'code' in error ? String(error.code) : error.name;
}
