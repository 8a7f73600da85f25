import type { Share } from '../types.js';

/** Removes what binary fractions add: 0.07 of 100 nodes is 7, not 8. */
const NOISE = 1e-9;

/**
 * The number of nodes a share of `total` stands for. What must be reached rounds up (sheet §8.2); what must not be
 * exceeded rounds down.
 */
export function resolveShare(share: Share, total: number, rounding: 'up' | 'down' = 'up'): number {
  if ('count' in share) return share.count;
  const exact = (share.percent * total) / 100;
  return rounding === 'up' ? Math.max(0, Math.ceil(exact - NOISE)) : Math.floor(exact + NOISE);
}

const PERCENT = /^(\d{1,3}(?:\.\d{1,6})?)%$/;

/**
 * A count (`3`), a fraction (`0.8`) or a percentage (`"80%"`) (N8). Undefined: neither of these types.
 * A string that says what is wrong: the right type, a wrong value.
 */
export function parseShare(value: unknown): Share | string | undefined {
  if (typeof value === 'number') {
    if (value < 0) return 'must not be negative';
    if (value > 0 && value < 1) return { percent: value * 100 };
    return Number.isSafeInteger(value)
      ? { count: Math.abs(value) }
      : 'must be a whole number, or a fraction between 0 and 1';
  }
  if (typeof value !== 'string') return undefined;
  const percent = PERCENT.exec(value)?.[1];
  if (percent === undefined) return undefined;
  return Number(percent) <= 100 ? { percent: Number(percent) } : 'must not be above 100%';
}
