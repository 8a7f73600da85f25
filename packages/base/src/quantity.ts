import { durationText, parseDuration } from './duration.js';
import { parseSize, sizeText } from './size.js';

/** What the number of a setting counts. */
export type Unit = 'seconds' | 'bytes';

/** A setting that is a duration or a size, and its bounds, both included. */
export interface Quantity {
  readonly unit: Unit;
  readonly minimum: number;
  readonly maximum: number;
}

const KINDS = {
  seconds: {
    name: 'duration',
    parse: parseDuration,
    text: durationText,
    forms: 'such as 500ms, 30s, 10m, 2h or 7d, or a number of seconds',
  },
  bytes: {
    name: 'size',
    parse: parseSize,
    text: sizeText,
    forms: 'such as 64KiB, 10MB or 1GiB, or a number of bytes',
  },
} as const;

/** `duration` or `size`. */
export function quantityName(unit: Unit): 'duration' | 'size' {
  return KINDS[unit].name;
}

/** Reads `10m` or `64KiB` as seconds or bytes; null when it is no such text. Bounds are the caller's to check. */
export function parseQuantity(unit: Unit, text: string): number | null {
  return KINDS[unit].parse(text);
}

/** As a person would write it. */
export function quantityText(unit: Unit, value: number): string {
  return KINDS[unit].text(value);
}

/** What is accepted, in words for an error. */
export function expectedQuantity({ unit, minimum, maximum }: Quantity): string {
  const { name, text, forms } = KINDS[unit];
  return `a ${name} from ${text(minimum)} to ${text(maximum)} (${forms})`;
}
