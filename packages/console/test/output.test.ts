import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JobNodeStatus } from '../src/api/types.js';
import { cellAt, layoutOf, neighbour, paint } from '../src/grid/paint.js';
import { plainText, spansOf } from '../src/output/ansi.js';
import { Lines } from '../src/output/lines.js';
import type { Told } from '../src/output/protocol.js';
import { Reader } from '../src/output/reader.js';
import { wrappedPlace, wrappedWindow } from '../src/output/wrapped.js';
import { caretUnder } from '../src/parts/caret.js';
import { clock, duration, untilThen } from '../src/parts/duration.js';
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

  it('that have a text are found, in capitals or not, whatever their colours and however much is looked at a time', () => {
    const line = fc.string({
      unit: fc.constantFrom('a', 'A', 'b', 'ß', ' ', `${ESC}[31m`, `${ESC}]8;;`, BEL),
      maxLength: 12,
    });
    const texts = fc.array(line, { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(texts, fc.constantFrom('a', 'ab', 'B ', 'ß'), fc.integer({ min: 1, max: 40 }), (all, text, most) => {
        const lines = new Lines();
        lines.add(new TextEncoder().encode(`${all.join('\n')}\n`));
        const found: number[] = [];
        for (let at = 0; at < lines.count; ) {
          const { lines: some, next } = lines.find(text, at, lines.count, most);
          expect(next).toBeGreaterThan(at);
          found.push(...some);
          at = next;
        }
        const has = (each: string) => plainText(each).toLowerCase().includes(text.toLowerCase());
        expect(found).toEqual(all.flatMap((each, index) => (has(each) ? [index] : [])));
      }),
    );
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

  it('paints what has changed, a share in each frame, until all is as it should be', () => {
    let cleared = 0;
    let filled = 0;
    const canvas = {
      ...{ beginPath() {}, rect() {}, roundRect() {}, stroke() {}, fillRect() {}, moveTo() {}, lineTo() {}, arc() {} },
      clearRect: () => (cleared += 1),
      fill: () => (filled += 1),
    } as unknown as CanvasRenderingContext2D;
    const palette = { ok: '', run: '', warn: '', bad: '', idle: '', line: '', card: '' };
    const layout = layoutOf(10_000, 1200);
    const statuses: JobNodeStatus[] = Array.from({ length: 10_000 }, () => 'failed');
    const painted: (JobNodeStatus | undefined)[] = [];
    const frames = (): number => {
      let count = 1;
      while (!paint(canvas, statuses, painted, layout, palette)) count += 1;
      return count;
    };
    expect(frames()).toBe(5);
    expect([filled, cleared]).toEqual([10_000, 0]);
    expect(painted).toEqual(statuses);
    statuses[17] = 'succeeded';
    expect(frames()).toBe(1);
    expect([filled, cleared]).toEqual([10_001, 1]);
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

it('what is to come is said to the nearest unit', () => {
  const ms = [0, 400, 700, 59_900, 40 * 60_000, 59.7 * 60_000, 86_398_000, 2 * 86_400_000 - 2000, 50 * 3_600_000];
  expect(ms.map(untilThen)).toEqual(['now', 'now', '1 s', '1 min', '40 min', '1 h', '1 d', '2 d', '2 d']);
});

it('a mark stands below the character', () => {
  expect(caretUnder('role = (', 7)).toBe('role = (\n       ▲');
  const long = caretUnder(`${'x'.repeat(100)}(`, 100).split('\n');
  expect(long[0]?.[long[1]?.length ?? 0]).toBeUndefined();
  expect(long[0]?.at((long[1]?.length ?? 0) - 1)).toBe('(');
});

describe('the reader of an output', () => {
  /** Pieces are given, and turns taken, when the test says so. */
  function reading() {
    const told: Told[] = [];
    const turns: (() => void)[] = [];
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    let more: () => void = () => {};
    let over = false;
    async function* bytes() {
      for (;;) {
        const piece = pieces.shift();
        if (piece !== undefined) yield piece;
        else if (over) return;
        else await new Promise<void>((resolve) => (more = resolve));
      }
    }
    const opened: boolean[] = [];
    const reader = new Reader({
      tell: (each) => told.push(each),
      open: async ({ goesOn }) => {
        opened.push(goesOn);
        const headers = () => new Headers(over ? { 'x-muster-missing': 'the node was gone' } : {});
        return { headers, bytes: bytes() };
      },
      later: (work) => turns.push(work),
      now: () => 0,
    });
    const settle = async () => {
      for (let n = 0; n < 20; n += 1) await Promise.resolve();
      while (turns.length > 0) turns.shift()?.();
    };
    const write = async (text: string) => {
      pieces.push(new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>);
      more();
      await settle();
    };
    const end = async () => {
      over = true;
      more();
      await settle();
    };
    return { reader, told, opened, write, end, settle };
  }
  const foundIn = (told: readonly Told[]) => told.flatMap((each) => (each.type === 'found' ? each.lines : []));

  it('finds in what comes later, each line once and when it is whole, and says at the end what is missing', async () => {
    const { reader, told, opened, write, end, settle } = reading();
    reader.asked({ type: 'open', path: '/', goesOn: true, grows: false });
    await settle();
    await write('one lo');
    reader.asked({ type: 'find', text: 'LOCK' });
    await write('ck\nnothing\nlock');
    expect(foundIn(told)).toEqual([0]);
    await end();
    expect(foundIn(told)).toEqual([0, 2]);
    expect(told.at(-1)).toMatchObject({ type: 'found', all: true });
    expect(told).toContainEqual({ type: 'size', lines: 3, bytes: 21, state: 'done' });
    expect(told).toContainEqual({ type: 'head', missing: 'the node was gone', dropped: 0 });
    expect(opened).toEqual([true]);
    reader.asked({ type: 'rows', first: 1, end: 9 });
    expect(told.at(-1)).toEqual({
      type: 'rows',
      first: 1,
      rows: [
        { text: 'nothing', cut: 0 },
        { text: 'lock', cut: 0 },
      ],
    });
  });

  it('begins anew with another text, and stops at none', async () => {
    const { reader, told, write, end, settle } = reading();
    reader.asked({ type: 'open', path: '/', goesOn: false, grows: false });
    await settle();
    await write('a\nb\nab\n');
    await end();
    reader.asked({ type: 'find', text: 'a' });
    reader.asked({ type: 'find', text: 'b' });
    await settle();
    const of = (text: string) =>
      told.flatMap((each) => (each.type === 'found' && each.text === text ? each.lines : []));
    expect([of('a'), of('b')]).toEqual([
      [0, 2],
      [1, 2],
    ]);
    const before = told.length;
    reader.asked({ type: 'find', text: '' });
    await settle();
    expect(told.length).toBe(before);
  });
});

describe('lines that are wrapped', () => {
  it('are all reached, one after the other, and each has a place', () => {
    const extent = fc.record({
      count: fc.integer({ min: 1, max: 2_000_000 }),
      row: fc.constant(20),
      view: fc.integer({ min: 20, max: 2000 }),
    });
    fc.assert(
      fc.property(extent, fc.nat(), (given, pick) => {
        const { count } = given;
        expect(wrappedWindow(given, 0).first).toBe(0);
        const { height } = wrappedWindow(given, 0);
        expect(wrappedWindow(given, height - given.view).first).toBe(count - 1);
        const index = pick % count;
        const { first, part, end } = wrappedWindow(given, wrappedPlace(given, index));
        expect(first + part).toBeCloseTo(index, 4);
        expect(end).toBeGreaterThan(first);
        expect(end).toBeLessThanOrEqual(count);
      }),
    );
  });
});
