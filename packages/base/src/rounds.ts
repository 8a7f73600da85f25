import type { Clock, Timer } from './clock.js';

/**
 * Runs `round` every `periodMs`, without drift; `lateMs` tells how long after its time. Rounds missed by a stall are
 * not made up for.
 *
 * By the clock that people set, as what the rounds judge by is: when it was set forward, everything seems to have been
 * silent for as long, and `lateMs` warns of that. So it does when the machine was suspended, which a monotonic clock
 * does not notice.
 */
export function every(clock: Clock, periodMs: number, round: (lateMs: number) => void): Timer {
  let due = clock.now() + periodMs;
  let timer = clock.after(periodMs, run);
  let stopped = false;
  function run(): void {
    const late = Math.max(0, clock.now() - due);
    round(late);
    if (stopped) return;
    due += periodMs * (1 + Math.floor(late / periodMs));
    // The clock was set back: the next round must not wait for the old time to come again.
    due = Math.min(due, clock.now() + periodMs);
    timer = clock.after(Math.max(0, due - clock.now()), run);
  }
  return {
    cancel() {
      stopped = true;
      timer.cancel();
    },
  };
}
