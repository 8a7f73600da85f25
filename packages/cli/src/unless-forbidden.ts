import { MusterError } from './errors.js';

/** What was asked for; null: whoever asks has no right to it. */
export async function unlessForbidden<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof MusterError && error.code === 'forbidden') return null;
    throw error;
  }
}
