import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Mask } from '../../src/execution/mask.js';

function masked(values: readonly string[], pieces: readonly string[]): string {
  const mask = new Mask(values);
  const out = pieces.map((piece) => Buffer.from(mask.write(Buffer.from(piece))));
  return Buffer.concat([...out, mask.end()]).toString();
}

/** The same by looking at every place of the whole text. */
function expected(values: readonly string[], text: string): string {
  let out = '';
  let hiddenUntil = 0;
  for (let at = 0; at <= text.length; at += 1) {
    const lengths = values.filter((value) => text.startsWith(value, at)).map(({ length }) => length);
    if (lengths.length > 0) {
      if (at >= hiddenUntil) out += '***';
      hiddenUntil = Math.max(hiddenUntil, at + Math.max(...lengths));
    }
    if (at >= hiddenUntil) out += text[at] ?? '';
  }
  return out;
}

describe('a mask', () => {
  it('hides values wherever the pieces are cut', () => {
    const letters = fc.constantFrom('a', 'b', 'c');
    const value = fc.array(letters, { minLength: 1, maxLength: 5 }).map((all) => all.join(''));
    const piece = fc.array(letters, { maxLength: 6 }).map((all) => all.join(''));
    fc.assert(
      fc.property(
        fc.array(value, { minLength: 1, maxLength: 3 }),
        fc.array(piece, { maxLength: 12 }),
        (values, pieces) => {
          expect(masked(values, pieces)).toBe(expected(values, pieces.join('')));
        },
      ),
    );
  });

  it('holds back only what may be the beginning of a value', () => {
    const mask = new Mask(['hunter2hunter2\n']);
    const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();
    expect(text(mask.write(Buffer.from('password: ')))).toBe('password: ');
    expect(text(mask.write(Buffer.from('hunter2')))).toBe('');
    expect(text(mask.write(Buffer.from('hunter2!')))).toBe('***!');
    expect(text(mask.write(Buffer.from('hunt')))).toBe('');
    expect(text(mask.end())).toBe('hunt');
  });

  const KEY = '-----BEGIN KEY-----\nc2VjcmV0c2VjcmV0\r\n  bW9yZW1vcmVtb3Jl\nc2hvcnQ\n-----END KEY-----\n';

  it.each([
    ['the whole', `<${KEY}>`, '<***\n>'],
    ['one line', 'key: c2VjcmV0c2VjcmV0.', 'key: ***.'],
    ['a line without what is around it', 'bW9yZW1vcmVtb3Jl', '***'],
    ['some lines', 'c2VjcmV0c2VjcmV0\nbW9yZW1vcmVtb3Jl\n', '***\n***\n'],
    ['lines that begin the value, and no more', '-----BEGIN KEY-----\nc2VjcmV0c2VjcmV0\r\nnot', '***\n***\r\nnot'],
    ['short lines, which stay', 'c2hvcnQ\n', 'c2hvcnQ\n'],
    ['a part of a line, which stays', 'c2VjcmV0c2Vj', 'c2VjcmV0c2Vj'],
  ])('of a value with several lines hides %s, wherever it is cut', (_, text, shown) => {
    expect(masked([KEY], [...text])).toBe(shown);
    for (let at = 0; at <= text.length; at += 1) {
      expect(masked([KEY], [text.slice(0, at), text.slice(at)]), `cut at ${at}`).toBe(shown);
    }
  });

  it('lets bytes pass that are no text', () => {
    const bytes = Uint8Array.from({ length: 512 }, (_, index) => index % 256);
    const mask = new Mask(['not in there']);
    expect(Buffer.concat([mask.write(bytes), mask.end()])).toEqual(Buffer.from(bytes));
  });
});
