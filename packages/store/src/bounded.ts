import type { Clock, Timer } from '@muster/base';

export class TookTooLong extends Error {}

/** Rejects with `TookTooLong` when `work` takes longer than `limitMs`; `work` itself goes on and must be cut off by the caller. */
export async function bounded<T>(clock: Clock, work: Promise<T>, limitMs: number, what: string): Promise<T> {
  let timer: Timer | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = clock.after(limitMs, () => reject(new TookTooLong(`${what} took longer than ${limitMs / 1000} s`)));
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    timer?.cancel();
  }
}
