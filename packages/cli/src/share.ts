import { MusterError } from './errors.js';

/**
 * A number of nodes or a share of them, as the API takes it: `3` a count, `0.8` a fraction, `"80%"` a percentage
 * (decision N8). Both lineages are understood.
 */
export type ShareText = number | string;

/** Reads what was typed after `flag`, of a flag for which none at all makes no sense. @throws MusterError `usage` */
export function parseSize(flag: string, text: string): ShareText {
  const share = parseShare(flag, text);
  if (!isNone(share)) return share;
  throw usage(`${flag} takes at least one node, not '${text}'`);
}

/** Reads what was typed after `--quorum`; `all` as `org set` has it. @throws MusterError `usage`, `quorum_of_none` */
export function parseQuorum(text: string): ShareText {
  if (text === 'all') return '100%';
  const share = parseShare('--quorum', text);
  if (!isNone(share)) return share;
  throw new MusterError('quorum_of_none', { quorum: text });
}

/** Reads what was typed after `flag`. @throws MusterError `usage` */
export function parseShare(flag: string, text: string): ShareText {
  const share = shareOf(flag, text);
  if (share !== null) return share;
  throw usage(`${flag} takes a count (3), a fraction (0.8) or a percentage (80%), not '${text}'`);
}

/** Null: it is no share. @throws MusterError `usage` of more than there is */
export function shareOf(flag: string, text: string): ShareText | null {
  const trimmed = text.trim();
  if (PERCENTAGE.test(trimmed)) {
    if (percentOf(trimmed) !== null) return trimmed;
    throw usage(`${flag} takes at most 100%, not '${text}'`);
  }
  if (/^\d+$/.test(trimmed) && Number(trimmed) <= Number.MAX_SAFE_INTEGER) return Number(trimmed);
  if (/^0?\.\d+$/.test(trimmed) && Number(trimmed) > 0) return Number(trimmed);
  return null;
}

export function isNone(share: ShareText): boolean {
  return Number.parseFloat(String(share)) === 0;
}

const PERCENTAGE = /^(\d+(?:\.\d+)?)%$/;

/** Null: it is no percentage up to 100%. */
export function percentOf(text: string): number | null {
  const percent = PERCENTAGE.exec(text)?.[1];
  return percent !== undefined && Number(percent) <= 100 ? Number(percent) : null;
}

/** Of what is stored: `{ count }` or `{ percent }`. */
export function shareText(share: object): string {
  if ('count' in share) return String(share.count);
  return 'percent' in share ? `${share.percent}%` : JSON.stringify(share);
}

function usage(reason: string): MusterError {
  return new MusterError('usage', { reason });
}
