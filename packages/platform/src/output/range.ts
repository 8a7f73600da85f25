/** The one range that a header `Range` asks for: from a byte up to another, or the last so many bytes. */
export type AskedRange = { readonly first: number; readonly last: number } | { readonly suffix: number };

/** Both are in it. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

const RANGE = /^bytes=(\d*)-(\d*)$/i;

/**
 * RFC 9110 §14.2. Undefined when none is asked for, or one that is not understood, such as several at once: then the
 * answer is the whole.
 */
export function readRange(header: string | undefined): AskedRange | undefined {
  const [, first = '', last = ''] = RANGE.exec(header ?? '') ?? [];
  if (first === '') return last === '' ? undefined : { suffix: Number(last) };
  const range = { first: Number(first), last: last === '' ? Number.POSITIVE_INFINITY : Number(last) };
  return range.last < range.first ? undefined : range;
}

/** What there is of it in so many bytes; undefined: nothing. */
export function rangeWithin(asked: AskedRange, size: number): ByteRange | undefined {
  const first = 'suffix' in asked ? Math.max(0, size - asked.suffix) : asked.first;
  const last = 'suffix' in asked ? size - 1 : Math.min(asked.last, size - 1);
  return first > last ? undefined : { first, last };
}
