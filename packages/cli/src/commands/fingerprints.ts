import { MusterError } from '../errors.js';
import { printable } from '../printable.js';

/** Fewer digits are too soon those of another key. */
const SHORTEST = 8;
const FINGERPRINT = new RegExp(`^([0-9a-f]{${SHORTEST},64})…?$`);

interface Fingerprinted {
  readonly fingerprint: string;
}

interface Known {
  /** Those that may be meant; asked for only where the beginning alone is given. */
  readonly keys: () => Promise<readonly Fingerprinted[]>;
  /** Those that may be meant when none of these is. */
  readonly others?: () => Promise<readonly Fingerprinted[]>;
  /** The command that shows them. */
  readonly shownBy: string;
}

/** The fingerprint that begins so. @throws MusterError `usage` when that is none, or several */
export async function wholeFingerprint(
  given: string,
  { keys, others = async () => [], shownBy }: Known,
): Promise<string> {
  const [, beginning] = FINGERPRINT.exec(given.toLowerCase()) ?? [];
  const shown = `\`${shownBy}\` shows them`;
  if (beginning === undefined) {
    const reason = `'${printable(given)}' is no fingerprint: give its 64 hex digits, or the first ${SHORTEST} or more; ${shown}`;
    throw new MusterError('usage', { reason });
  }
  if (beginning.length === 64) return beginning;
  const known = beginningWith(beginning, await keys());
  const [found, ...further] = known.length > 0 ? known : beginningWith(beginning, await others());
  if (found === undefined) {
    const reason = `no key is known that begins with ${beginning}: give all 64 digits, or a fingerprint as \`${shownBy}\` shows it`;
    throw new MusterError('usage', { reason });
  }
  if (further.length === 0) return found;
  throw new MusterError('usage', { reason: `several keys begin with ${beginning}: give more of it; ${shown}` });
}

function beginningWith(beginning: string, keys: readonly Fingerprinted[]): string[] {
  const all = keys.map(({ fingerprint }) => fingerprint);
  return [...new Set(all.filter((fingerprint) => fingerprint.startsWith(beginning)))];
}
