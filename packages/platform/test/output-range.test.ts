import { describe, expect, it } from 'vitest';
import { rangeWithin, readRange } from '../src/output/range.js';

/** RFC 9110 §14: one range of bytes. */

describe('a header Range', () => {
  it.each([
    ['bytes=0-4', { first: 0, last: 4 }],
    ['bytes=7-', { first: 7, last: Number.POSITIVE_INFINITY }],
    ['bytes=-3', { suffix: 3 }],
    ['Bytes=0-0', { first: 0, last: 0 }],
    ['bytes=-', undefined],
    ['bytes=5-4', undefined],
    ['bytes=0-1,4-5', undefined],
    ['lines=0-1', undefined],
    ['bytes=a-b', undefined],
    [undefined, undefined],
  ])('%j asks for %o', (header, range) => expect(readRange(header)).toEqual(range));

  it.each([
    [{ first: 0, last: 4 }, 10, { first: 0, last: 4 }],
    [{ first: 8, last: Number.POSITIVE_INFINITY }, 10, { first: 8, last: 9 }],
    [{ first: 9, last: 100 }, 10, { first: 9, last: 9 }],
    [{ first: 10, last: 100 }, 10, undefined],
    [{ first: 1e300, last: Number.POSITIVE_INFINITY }, 10, undefined],
    [{ suffix: 3 }, 10, { first: 7, last: 9 }],
    [{ suffix: 30 }, 10, { first: 0, last: 9 }],
    [{ suffix: 0 }, 10, undefined],
    [{ suffix: 3 }, 0, undefined],
  ])('of %o there is in %d bytes %o', (asked, size, range) => expect(rangeWithin(asked, size)).toEqual(range));
});
