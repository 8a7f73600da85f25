import type { JobPreview } from '../api/types.gen.js';
import { number } from '../parts/numbers.js';

/** How many nodes can be ready, in words. Pure. */
export function whoCan({ least, most }: Pick<JobPreview['quorum'], 'least' | 'most'>): string {
  const can = least === 0 ? 'none can' : `${number(least)} can`;
  if (most <= least) return can;
  return least === 0 ? `${can} for sure, ${number(most)} perhaps` : `${can}, ${number(most - least)} more perhaps`;
}
