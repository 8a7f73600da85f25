/** Numbers of bytes as people write them: in settings, in flags of the command line. */

/**
 * What is written with an i counts in 1024, what is written without in 1000, as in IEC 80000-13. A bare K, M or G is
 * refused: half the world means one and half the other.
 */
const UNIT_BYTES = {
  B: 1,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
} as const;
const LARGEST_FIRST = ['TiB', 'GiB', 'MiB', 'KiB', 'TB', 'GB', 'MB', 'kB'] as const;

const SIZE = /^(?<amount>\d+(?:\.\d+)?)(?<unit>B|[kKMGT]B|[KMGT]iB)?$/;

/** Reads `65536`, `64KiB`, `1.5GiB` or `10MB` as whole bytes; null when it is none of these. */
export function parseSize(text: string): number | null {
  const { amount, unit = 'B' } = SIZE.exec(text.trim())?.groups ?? {};
  if (amount === undefined) return null;
  return Math.round(Number(amount) * UNIT_BYTES[unit as keyof typeof UNIT_BYTES]);
}

/** The same the other way, exactly: `64KiB`, `1MB`, `4095B`. */
export function sizeText(bytes: number): string {
  const unit = bytes === 0 ? 'B' : (LARGEST_FIRST.find((candidate) => bytes % UNIT_BYTES[candidate] === 0) ?? 'B');
  return `${bytes / UNIT_BYTES[unit]}${unit}`;
}
