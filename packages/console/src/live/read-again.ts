import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Answer } from '../api/client.js';
import { type ApiError, apiError } from '../api/errors.js';

interface ReadAgain<State> {
  /** What is read is another one when it changes. */
  readonly id: string;
  /** It is read again when it changes, a moment later, as it may change once more. */
  readonly version: string;
  readonly afterMs: number;
  readonly read: (signal: AbortSignal) => Promise<Answer<State>>;
}

/** Something that no event tells of in full, read again when what it is made of has changed. Null: not yet; what was read stays meanwhile. */
export function useReadAgain<State>({ id, version, afterMs, read }: ReadAgain<State>) {
  const value = useSignal<State | null>(null);
  const error = useSignal<ApiError | null>(null);
  useEffect(() => {
    const reading = new AbortController();
    const run = (): void => {
      read(reading.signal).then(
        ({ body }) => {
          value.value = body;
          error.value = null;
        },
        (thrown) => {
          if (!reading.signal.aborted) error.value = apiError(thrown);
        },
      );
    };
    const timer = setTimeout(run, value.value === null ? 0 : afterMs);
    return () => {
      clearTimeout(timer);
      reading.abort();
    };
  }, [id, version]);
  return { value: value.value, error: error.value };
}
