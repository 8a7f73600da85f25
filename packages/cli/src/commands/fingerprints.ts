import { MusterError } from '../errors.js';
import { printable } from '../printable.js';

/** Fewer digits are too soon those of another key. */
const SHORTEST = 8;
const FINGERPRINT = new RegExp(`^([0-9a-f]{${SHORTEST},64})…?$`);

interface Known {
  /** Those that may be meant; asked for only where the beginning alone is given. */
  readonly keys: () => Promise<readonly { readonly fingerprint: string }[]>;
  /** The command that shows them. */
  readonly shownBy: string;
}

/** The fingerprint that begins so. @throws MusterError `usage` when that is none, or several */
export async function wholeFingerprint(given: string, { keys, shownBy }: Known): Promise<string> {
  const [, beginning] = FINGERPRINT.exec(given.toLowerCase()) ?? [];
  const shown = `\`${shownBy}\` shows them`;
  if (beginning === undefined) {
    const reason = `'${printable(given)}' is no fingerprint: give its 64 hex digits, or the first ${SHORTEST} or more; ${shown}`;
    throw new MusterError('usage', { reason });
  }
  if (beginning.length === 64) return beginning;
  const all = (await keys()).map(({ fingerprint }) => fingerprint);
  const [found, ...others] = new Set(all.filter((fingerprint) => fingerprint.startsWith(beginning)));
  if (found === undefined) {
    const reason = `no key is known that begins with ${beginning}: give all 64 digits, or a fingerprint as \`${shownBy}\` shows it`;
    throw new MusterError('usage', { reason });
  }
  if (others.length === 0) return found;
  throw new MusterError('usage', { reason: `several keys begin with ${beginning}: give more of it; ${shown}` });
}
