import { plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';

/** How the nodes of a job were chosen, for people. */
export function targetText(target: string | null, count: number): string {
  return target === null ? plural(count, 'node') : `${plural(count, 'node')}: ${safeText(target)}`;
}

/** The job of which this one is run again where it failed; null: it is another one. */
export function rerunOf(target: string | null): string | null {
  return (
    /^[a-z_, ]*\b(?:failed|crashed|timed_out)\b[a-z_, ]* nodes of job ([0-9a-f]{32})$/.exec(target ?? '')?.[1] ?? null
  );
}
