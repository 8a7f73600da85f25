import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FRAME_BYTES } from '../../src/limits.js';
import { FrameError, FrameReader, writeFrames } from '../../src/tasks/frames.js';

const message = fc.oneof(
  fc.record({ t: fc.constant('news'), text: fc.string({ unit: 'grapheme' }) }),
  fc.record({ t: fc.constant('output'), data: fc.uint8Array({ minLength: 1, maxLength: 200 }) }),
);

/** With their data as plain lists of bytes. */
function plain(messages: readonly unknown[]): unknown[] {
  return (messages as readonly { readonly data?: Uint8Array }[]).map((one) =>
    one.data === undefined ? one : { ...one, data: [...one.data] },
  );
}

describe('frames between the agent and its hosts', () => {
  it('messages arrive as they were sent, however the bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(message), fc.array(fc.integer({ min: 1, max: 40 })), (messages, cuts) => {
        const bytes = Buffer.concat(writeFrames(messages));
        const reader = new FrameReader();
        const got: unknown[] = [];
        let at = 0;
        for (const cut of cuts) {
          got.push(...reader.read(bytes.subarray(at, at + cut)));
          at = Math.min(at + cut, bytes.length);
        }
        got.push(...reader.read(bytes.subarray(at)));
        expect(plain(got)).toEqual(plain(messages));
      }),
    );
  });
  it('what belongs together takes one frame, and none is too long', () => {
    const small = writeFrames(Array.from({ length: 1_000 }, (_, n) => ({ t: 'settle', n })));
    expect(small).toHaveLength(1);
    const large = writeFrames(Array.from({ length: 20 }, () => ({ t: 'run', text: 'x'.repeat(1_000_000) })));
    expect(Math.max(...large.map((frame) => frame.length))).toBeLessThan(FRAME_BYTES);
    const reader = new FrameReader();
    expect(large.flatMap((frame) => reader.read(Buffer.from(frame)))).toHaveLength(20);
  });
  it('something else is refused, before it is kept', () => {
    const read =
      (...bytes: number[]) =>
      () =>
        new FrameReader().read(Buffer.from(bytes));
    expect(read(255, 255, 255, 255, 0, 0, 0, 1)).toThrow(FrameError);
    expect(read(0, 0, 0, 1, 0, 0, 0, 2)).toThrow(FrameError);
    expect(read(0, 0, 0, 1, 0, 0, 0, 1, 0x78)).toThrow(FrameError);
    expect(read(0, 0, 0, 1, 0, 0, 0, 1, 0x31)).toThrow(FrameError);
  });
});
