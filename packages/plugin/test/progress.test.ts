import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PROGRESS_LINE, PROGRESS_TEXT, ProgressLines, progressOf } from '../src/contract/index.js';

const read = (...pieces: readonly (string | Uint8Array)[]) => {
  const lines = new ProgressLines();
  const found = pieces.flatMap((piece) => lines.read(Buffer.from(piece)));
  const last = lines.end();
  return last === null ? found : [...found, last];
};

describe('lines of progress', () => {
  it('reads per cent and text', () => {
    expect(read('::progress 40 half way, nearly\n::progress 62.5%\n::progress 100 done')).toEqual([
      { fraction: 0.4, text: 'half way, nearly' },
      { fraction: 0.625, text: '' },
      { fraction: 1, text: 'done' },
    ]);
  });

  it('takes more than all as all', () => {
    expect(read('::progress 250 x\n')).toEqual([{ fraction: 1, text: 'x' }]);
  });

  it.each(['progress 4', '::progress', '::progress x', '::progress -4', ' ::progress 4', '::progress4', ''])(
    'passes %j over',
    (line) => {
      expect(read(`${line}\n`)).toEqual([]);
    },
  );

  it('passes a line over that is too long, and reads the next', () => {
    const long = `::progress 1 ${'x'.repeat(PROGRESS_LINE)}`;
    expect(read(long.slice(0, 50), long.slice(50), '\n::progress 2 y\n')).toEqual([{ fraction: 0.02, text: 'y' }]);
  });

  it('bounds the text and takes control characters out of it', () => {
    expect(progressOf(0.5, `a\u001b[2Jb${'x'.repeat(PROGRESS_TEXT)}`)).toEqual({
      fraction: 0.5,
      text: `a [2Jb${'x'.repeat(PROGRESS_TEXT - 6)}`,
    });
    expect(progressOf(Number.NaN, '')).toEqual({ fraction: 0, text: '' });
    expect(progressOf(-1, '')).toEqual({ fraction: 0, text: '' });
  });

  it('reads the same however the text is cut', () => {
    const bytes = Buffer.from('::progress 1 äöü\nother\n::progress 2 €\r\n::progress 3');
    const whole = read(bytes);
    expect(whole).toHaveLength(3);
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length)), (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        expect(read(...at.slice(1).map((end, index) => bytes.subarray(at[index], end)))).toEqual(whole);
      }),
    );
  });
});
