import { MusterError } from './errors.js';

/**
 * A number of nodes or a share of them, as the API takes it: `3` a count, `0.8` a fraction, `"80%"` a percentage
 * (decision N8). Both lineages are understood.
 */
export type ShareText = number | string;

/** Reads what was typed after `flag`, of a flag for which none at all makes no sense. @throws MusterError `usage` */
export function parseSize(flag: string, text: string): ShareText {
  const share = parseShare(flag, text);
  if (Number.parseFloat(String(share)) > 0) return share;
  throw new MusterError('usage', { reason: `${flag} takes at least one node, not '${text}'` });
}

/** Reads what was typed after `flag`. @throws MusterError `usage` */
export function parseShare(flag: string, text: string): ShareText {
  const trimmed = text.trim();
  if (percentOf(trimmed) !== null) return trimmed;
  if (/^\d+$/.test(trimmed) && Number(trimmed) <= Number.MAX_SAFE_INTEGER) return Number(trimmed);
  if (/^0?\.\d+$/.test(trimmed) && Number(trimmed) > 0) return Number(trimmed);
  throw new MusterError('usage', {
    reason: `${flag} takes a count (3), a fraction (0.8) or a percentage (80%), not '${text}'`,
  });
}

/** Null: it is no percentage up to 100%. */
export function percentOf(text: string): number | null {
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(text)?.[1];
  return percent !== undefined && Number(percent) <= 100 ? Number(percent) : null;
}

/** Of what is stored: `{ count }` or `{ percent }`. */
export function shareText(share: object): string {
  if ('count' in share) return String(share.count);
  return 'percent' in share ? `${share.percent}%` : JSON.stringify(share);
}
