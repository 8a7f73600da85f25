import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cellAt, layoutOf, neighbour } from '../src/grid/paint.js';
import { plainText, spansOf } from '../src/output/ansi.js';
import { Lines } from '../src/output/lines.js';
import { caretUnder } from '../src/parts/caret.js';
import { clock, duration } from '../src/parts/duration.js';
import { safeText } from '../src/parts/safe-text.js';

const ESC = String.fromCodePoint(0x1b);
const BEL = String.fromCodePoint(7);

describe('lines', () => {
  it('are those of the text, however it came in pieces', () => {
    const line = fc.string({ unit: fc.constantFrom('a', 'ä', '€', '😀', ' '), maxLength: 12 });
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 1, maxLength: 30 }),
        fc.array(fc.integer({ min: 1, max: 9 })),
        (all, sizes) => {
          const bytes = new TextEncoder().encode(all.join('\n'));
          const lines = new Lines();
          let at = 0;
          for (const size of [...sizes, bytes.length]) {
            lines.add(bytes.slice(at, at + size));
            at += size;
          }
          const expected = all.at(-1) === '' ? all.slice(0, -1) : all;
          expect(lines.count).toBe(expected.length);
          expect(expected.map((_, index) => lines.line(index).text)).toEqual(expected);
          expect(lines.bytes).toBe(bytes.length);
        },
      ),
    );
  });

  it('that are too long are cut, and say by how much', () => {
    const lines = new Lines();
    lines.add(new TextEncoder().encode(`${'x'.repeat(5000)}\r\nnext`));
    expect(lines.line(0)).toEqual({ text: 'x'.repeat(4096), cut: 905 });
    expect(lines.line(1)).toEqual({ text: 'next', cut: 0 });
  });

  it('are none of nothing', () => {
    expect(new Lines().count).toBe(0);
  });
});

describe('what a terminal would do', () => {
  it('is colours, or nothing', () => {
    const line = `${ESC}[1;31mred${ESC}[0m plain ${ESC}[38;5;2mgreen${ESC}[39m${ESC}[2J${ESC}]8;;http://evil.example${BEL}link${ESC}]8;;${BEL}`;
    expect(spansOf(line).map(({ text, look }) => [text, look])).toEqual([
      ['red', 'sgr-bold sgr-1'],
      [' plain ', ''],
      ['green', 'sgr-2'],
      ['link', ''],
    ]);
    expect(plainText(line)).toBe('red plain greenlink');
  });

  it('takes nothing away from what is text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const shown = spansOf(text)
          .map((span) => span.text)
          .join('');
        expect(shown).toBe(safeText(plainText(text)));
      }),
    );
  });
});

it('marks of direction and controls are shown by their numbers', () => {
  expect(safeText(`a${String.fromCodePoint(0x202e)}b${BEL}\tc\nd`)).toBe('a‹U+202E›b‹U+0007›\tc\nd');
});

describe('the grid', () => {
  it('has a place for every node, and finds it again', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.integer({ min: 200, max: 2000 }),
        fc.nat(),
        (count, width, pick) => {
          const layout = layoutOf(count, width);
          const index = pick % count;
          const x = (index % layout.columns) * layout.cell + layout.cell / 2;
          const y = Math.floor(index / layout.columns) * layout.cell + layout.cell / 2;
          expect(cellAt(layout, count, x, y)).toBe(index);
          expect(layout.columns * layout.cell).toBeLessThanOrEqual(width);
          for (const key of ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End', 'PageUp', 'PageDown']) {
            const to = neighbour(layout, count, index, key) ?? -1;
            expect(to).toBeGreaterThanOrEqual(0);
            expect(to).toBeLessThan(count);
          }
        },
      ),
    );
  });

  it('of 10,000 nodes is one picture', () => {
    const { rows, cell } = layoutOf(10_000, 1200);
    expect(rows * cell).toBeLessThanOrEqual(420);
  });
});

it('durations are said in the largest unit', () => {
  expect([900, 12_000, 3 * 60_000, 2.5 * 3_600_000, 50 * 3_600_000].map(duration)).toEqual([
    'now',
    '12 s',
    '3 min',
    '2 h',
    '2 d',
  ]);
  expect([0, 42_000, 3_723_000].map(clock)).toEqual(['0:00', '0:42', '1:02:03']);
});

it('a mark stands below the character', () => {
  expect(caretUnder('role = (', 7)).toBe('role = (\n       ▲');
  const long = caretUnder(`${'x'.repeat(100)}(`, 100).split('\n');
  expect(long[0]?.[long[1]?.length ?? 0]).toBeUndefined();
  expect(long[0]?.at((long[1]?.length ?? 0) - 1)).toBe('(');
});
