import fc from 'fast-check';
import { expect, it } from 'vitest';
import { base64 } from '../src/fields.js';

const STANDARD = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function read(data: string): string {
  try {
    return Buffer.from(base64({ data }, 'data', 1000)).toString('hex');
  } catch {
    return 'refused';
  }
}

const letter = fc.constantFrom(...'AQgw/+9=-_ \n.\0é\u0141\u013d\ud83d');
const nearly = fc.oneof(
  fc.base64String(),
  fc.array(letter, { maxLength: 12 }).map((letters) => letters.join('')),
  fc.tuple(fc.base64String(), fc.nat(), letter).map(([text, at, other]) => {
    const index = at % (text.length + 1);
    return text.slice(0, index) + other + text.slice(index + 1);
  }),
);

it('is standard base64 with padding, and nothing else', () => {
  fc.assert(
    fc.property(nearly, (text) => {
      expect(read(text)).toBe(STANDARD.test(text) ? Buffer.from(text, 'base64').toString('hex') : 'refused');
    }),
    { numRuns: 5000 },
  );
});

it.each(['QQ', 'QQ=', 'QQ===', '=QQ=', 'QQ==QQ==', 'QUJ-', 'QUJ_', 'QUJD\n', 'QUJ\u0141', 'QU JD'])(
  '%j is refused',
  (text) => {
    expect(read(text)).toBe('refused');
  },
);
