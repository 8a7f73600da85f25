import type { Clock } from '@muster/base';

/** Resolves after `ms`. Rejects with the reason of the signal when that is aborted first. */
export function pause(clock: Pick<Clock, 'after'>, ms: number, signal: AbortSignal): Promise<void> {
  return pauseOr(clock, ms, signal, () => () => undefined);
}

/** As `pause`, and resolves sooner when `wake` is called. `begin` is given it, and answers how to end what calls it. */
export function pauseOr(
  clock: Pick<Clock, 'after'>,
  ms: number,
  signal: AbortSignal,
  begin: (wake: () => void) => () => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const done = (settle: () => void) => () => {
      timer.cancel();
      signal.removeEventListener('abort', aborted);
      end();
      settle();
    };
    const aborted = done(() => reject(signal.reason));
    const over = done(resolve);
    let end: () => void = () => undefined;
    const timer = clock.after(ms, over);
    signal.addEventListener('abort', aborted, { once: true });
    end = begin(over);
  });
}
