import { plural } from '../parts/numbers.js';
import { safeText } from '../parts/safe-text.js';

/** How the nodes of a job were chosen, for people. */
export function targetText(target: string | null, count: number): string {
  return target === null ? plural(count, 'node') : `${plural(count, 'node')}: ${safeText(target)}`;
}
