/** Longest a test waits for a condition before it fails with what it was waiting for. */
const PATIENCE_MS = 60_000;
/** Between two looks: often at first, for most conditions hold at once; then less, for looking costs what is looked at. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 200;
const LONGER = 1.3;

/**
 * Looks until `probe` gives something other than undefined, null or false, and returns that. A condition, never a
 * duration: the only clock here is the limit after which the test fails.
 */
export async function until<T>(
  what: string,
  probe: () => T | Promise<T>,
  patienceMs = PATIENCE_MS,
): Promise<Exclude<T, undefined | null | false>> {
  const end = Date.now() + patienceMs;
  let seen: unknown;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * LONGER)) {
    try {
      const value = await probe();
      if (value !== undefined && value !== null && value !== false)
        return value as Exclude<T, undefined | null | false>;
      seen = value;
    } catch (error) {
      seen = error;
    }
    if (Date.now() > end) throw new Error(`waited ${patienceMs} ms for ${what}; last: ${String(seen)}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
