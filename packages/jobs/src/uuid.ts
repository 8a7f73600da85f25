import type { RandomBytes } from '@muster/platform/auth';

/** Three digits that say what a thing is (sheet §0.4). */
export type UuidType = '005' | '006' | '007' | '011' | '064' | '065';

/** A random UUID and what it is of: `b5c4014b-31e7-47a0-954f-c9d404320904-007`. */
export function newUuid(random: RandomBytes, type: UuidType): string {
  const bytes = Buffer.from(random(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)];
  return `${parts.join('-')}-${type}`;
}
