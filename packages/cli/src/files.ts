import { MusterError } from './errors.js';

/**
 * What `read` makes of a file that was named.
 * @throws MusterError `usage` with the file when it is missing or unreadable; its own MusterError.
 */
export function readingOf<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof MusterError) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new MusterError('usage', { reason: `cannot read ${path} (${code})` }, { cause: error });
  }
}
