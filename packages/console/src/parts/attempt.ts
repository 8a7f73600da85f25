import { useSignal } from '@preact/signals';
import { type ApiError, apiError } from '../api/errors.js';

/** For what somebody asks of the server, one thing after the other: whether it is at it, and what stood in the way of the last one. */
export function useAttempt() {
  const busy = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    busy.value = true;
    error.value = null;
    try {
      await work();
    } catch (thrown) {
      error.value = apiError(thrown);
    } finally {
      busy.value = false;
    }
  };
  return { busy, error, attempt };
}
