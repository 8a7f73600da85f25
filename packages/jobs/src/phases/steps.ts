/** How long to wait between looks at a program (sheet §3.3): so many times so long. The last goes on for ever. */
const STEPS: readonly (readonly [tries: number, delayMs: number])[] = [
  [1, 1_000],
  [5, 10_000],
  [10, 60_000],
  [100, 180_000],
  [100, 300_000],
  [Number.POSITIVE_INFINITY, 600_000],
];

/** Milliseconds before the look of this number, counted from 0. */
export function lookDelay(look: number): number {
  let before = 0;
  for (const [tries, delayMs] of STEPS) {
    before += tries;
    if (look < before) return delayMs;
  }
  throw new Error('unreachable: the last step has no end');
}

/** Delays from this on are made longer by up to so great a part of them. */
const TOGETHER_FROM_MS = 10_000;
const TOGETHER_PART = 0.1;

/**
 * From now, by the monotonic clock, until the look of this number. Those that are far apart come at the same moments for all programs of
 * this process, so that one command looks at many.
 */
export function lookPause(look: number, now: number): number {
  const delayMs = lookDelay(look);
  if (delayMs < TOGETHER_FROM_MS) return delayMs;
  const everyMs = delayMs * TOGETHER_PART;
  return Math.ceil((now + delayMs) / everyMs) * everyMs - now;
}
