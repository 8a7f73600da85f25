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
