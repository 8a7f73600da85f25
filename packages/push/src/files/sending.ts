import type { Clock } from '@muster/base';
import type { Pace } from './pace.js';

/** Paces everything by what all share and what one node may take; ends early when the server stops. */
export async function* paced(
  bytes: AsyncIterable<Uint8Array>,
  paces: readonly Pace[],
  clock: Pick<Clock, 'after'>,
  stopping: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    const waitMs = Math.max(...paces.map((pace) => pace.take(piece.length)));
    if (waitMs > 0) await passed(waitMs, clock, stopping);
    if (stopping.aborted) throw new Error('the server stops');
    yield piece;
  }
}

function passed(ms: number, clock: Pick<Clock, 'after'>, stopping: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      timer.cancel();
      stopping.removeEventListener('abort', done);
      resolve();
    };
    const timer = clock.after(ms, done);
    stopping.addEventListener('abort', done, { once: true });
  });
}
