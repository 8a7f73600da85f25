import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CommandOutput, OutputStream } from '../../src/execution/output.js';
import { OUTPUT_CHUNK, OUTPUT_WINDOW } from '../../src/limits.js';

/** A server that stores pieces at their positions. */
function receive(stream: OutputStream, chunk = OUTPUT_CHUNK, acknowledge = true) {
  const pieces: { readonly offset: number; readonly data: Buffer }[] = [];
  for (let piece = stream.take(chunk); piece !== null; piece = stream.take(chunk)) {
    pieces.push({ offset: piece.offset, data: Buffer.from(piece.data) });
    if (acknowledge) stream.stored(piece.offset + piece.data.length);
  }
  return pieces;
}

const bytes = (length: number, from = 0): Buffer => {
  const buffer = Buffer.allocUnsafe(length);
  for (let index = 0; index < length; index++) buffer[index] = (from + index) % 251;
  return buffer;
};

describe("a command's output on its way", () => {
  it('arrives whole and in order, any bytes, also not UTF-8', () => {
    const stream = new OutputStream(1000);
    const written = Buffer.from([0, 255, 254, 10, 128, 0xc3, 0x28]);
    stream.write(written);
    stream.end();
    expect(Buffer.concat(receive(stream).map(({ data }) => data))).toEqual(written);
    expect(stream.drained).toBe(true);
  });
  it('a piece is at most one chunk', () => {
    const stream = new OutputStream(10 * OUTPUT_CHUNK);
    stream.write(bytes(OUTPUT_CHUNK + 1));
    stream.end();
    expect(receive(stream).map(({ data }) => data.length)).toEqual([OUTPUT_CHUNK, 1]);
  });
  it('the first small piece leaves at once, further ones gather until it is acknowledged', () => {
    const stream = new OutputStream(1000);
    stream.write(bytes(3));
    expect(stream.take(OUTPUT_CHUNK)).toMatchObject({ offset: 0 });
    stream.write(bytes(2));
    stream.write(bytes(2));
    expect(stream.take(OUTPUT_CHUNK)).toBeNull();
    stream.stored(3);
    expect(stream.take(OUTPUT_CHUNK)?.data).toHaveLength(4);
  });
  it('no more than the window is unacknowledged', () => {
    const stream = new OutputStream(100 * OUTPUT_CHUNK);
    stream.write(bytes(20 * OUTPUT_CHUNK));
    const sent = receive(stream, OUTPUT_CHUNK, false);
    expect(sent.reduce((sum, { data }) => sum + data.length, 0)).toBe(OUTPUT_WINDOW);
    stream.stored(OUTPUT_CHUNK);
    expect(receive(stream, OUTPUT_CHUNK, false)).toHaveLength(1);
  });
  it('what is not acknowledged is sent again from there', () => {
    const stream = new OutputStream(1000);
    stream.write(bytes(10));
    stream.end();
    expect(stream.take(4)).toMatchObject({ offset: 0 });
    expect(stream.take(4)).toMatchObject({ offset: 4 });
    stream.stored(4);
    stream.rewind();
    expect(stream.take(4)).toMatchObject({ offset: 4 });
  });
  it('a late acknowledgement after a rewind counts, one for what was never sent does not', () => {
    const stream = new OutputStream(1000);
    stream.write(bytes(10));
    stream.end();
    stream.take(6);
    stream.rewind();
    stream.stored(6);
    expect(stream.take(10)).toMatchObject({ offset: 6 });
    const other = new OutputStream(1000);
    other.write(bytes(10));
    other.stored(10);
    expect(other.take(10)).toMatchObject({ offset: 0 });
  });
  it('exactly the limit is kept whole; one byte more drops the middle', () => {
    const whole = new OutputStream(10);
    whole.write(bytes(10));
    whole.end();
    expect(Buffer.concat(receive(whole).map(({ data }) => data))).toEqual(bytes(10));
    const cut = new OutputStream(10);
    cut.write(bytes(11));
    cut.end();
    const pieces = receive(cut);
    expect(pieces).toEqual([
      { offset: 0, data: bytes(5) },
      { offset: 6, data: bytes(5, 6) },
    ]);
    expect(cut.total).toBe(11);
    expect(cut.drained).toBe(true);
  });
  it('for any writes the first half is live, the last half follows at the end, and no byte moves', () => {
    const writes = fc.array(fc.integer({ min: 0, max: 90_000 }), { maxLength: 12 });
    fc.assert(
      fc.property(
        writes,
        fc.integer({ min: 0, max: 150_000 }),
        fc.integer({ min: 97, max: 40_000 }),
        (lengths, limit, chunk) => {
          const stream = new OutputStream(limit);
          const pieces: ReturnType<typeof receive> = [];
          let total = 0;
          for (const length of lengths) {
            stream.write(bytes(length, total));
            total += length;
            pieces.push(...receive(stream, chunk));
          }
          const live = pieces.reduce((sum, { data }) => sum + data.length, 0);
          stream.end();
          pieces.push(...receive(stream, chunk));
          const kept = pieces.reduce((sum, { data }) => sum + data.length, 0);
          expect(stream.total).toBe(total);
          expect(live).toBe(Math.min(total, Math.ceil(limit / 2)));
          expect(kept).toBe(Math.min(total, limit));
          expect(stream.drained).toBe(true);
          let end = 0;
          for (const { offset, data } of pieces) {
            expect(offset).toBeGreaterThanOrEqual(end);
            expect(data.equals(bytes(data.length, offset))).toBe(true);
            end = offset + data.length;
          }
          if (limit > 1 && total > 0) expect(end).toBe(total);
        },
      ),
      { numRuns: 60 },
    );
  });
  it('memory stays within the limit however much is written while the server is away', () => {
    const stream = new OutputStream(4 * OUTPUT_CHUNK);
    const piece = Buffer.alloc(OUTPUT_CHUNK, 7);
    const before = process.memoryUsage().arrayBuffers;
    for (let n = 0; n < 3000; n += 1) stream.write(piece);
    globalThis.gc?.();
    stream.end();
    const kept = receive(stream).reduce((sum, { data }) => sum + data.length, 0);
    expect(kept).toBe(4 * OUTPUT_CHUNK);
    expect(stream.total).toBe(3000 * OUTPUT_CHUNK);
    expect(before).toBeGreaterThan(0);
  });
  it('stdout and stderr take turns', () => {
    const output = new CommandOutput(1000, true);
    output.write('stdout', bytes(4));
    output.write('stderr', bytes(4));
    output.end();
    const streams = [output.take(2), output.take(2), output.take(2), output.take(2), output.take(2)];
    expect(streams.map((piece) => piece?.stream)).toEqual(['stdout', 'stderr', 'stdout', 'stderr', undefined]);
  });
  it('without capture nothing is kept and nothing waited for', () => {
    const output = new CommandOutput(1000, false);
    output.write('stdout', bytes(4));
    expect([output.take(10), output.drained, output.bytes]).toEqual([null, true, null]);
  });
});
