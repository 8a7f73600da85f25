import { ManualClock } from '@muster/base';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AnswerPace } from '../src/output/answer-pace.js';
import { OUTPUT_LIMITS } from '../src/output/limits.js';

const { answerRoundMs: ROUND_MS, answersARound: A_ROUND, answerWaitsMs: WAITS_MS } = OUTPUT_LIMITS;

function paced() {
  const clock = new ManualClock();
  const pace = new AnswerPace<number>(clock);
  const left: [stream: number, says: string][] = [];
  const inTurn = (stream: number, says = 'more'): void => pace.inTurn(stream, () => void left.push([stream, says]));
  const now = (stream: number, says: string): void => pace.now(stream, () => void left.push([stream, says]));
  const each = (streams: number): void => {
    for (let stream = 0; stream < streams; stream++) inTurn(stream);
  };
  return { clock, pace, left, inTurn, now, each };
}

describe('answers to pieces of output', () => {
  test('leave at once while there are few', () => {
    const { left, each, clock } = paced();
    each(A_ROUND);
    expect(left).toHaveLength(A_ROUND);
    clock.advance(ROUND_MS);
    each(A_ROUND);
    expect(left).toHaveLength(2 * A_ROUND);
  });

  test('leave in the order of the pieces when there are more, some in each round', () => {
    const { left, each, clock } = paced();
    each(3 * A_ROUND);
    expect(left).toHaveLength(A_ROUND);
    clock.advance(ROUND_MS);
    expect(left).toHaveLength(2 * A_ROUND);
    clock.advance(ROUND_MS);
    expect(left.map(([stream]) => stream)).toEqual(Array.from({ length: 3 * A_ROUND }, (_, stream) => stream));
  });

  test('leave once for what is held of a stream, with what was said last', () => {
    const { left, inTurn, each, clock } = paced();
    each(A_ROUND);
    inTurn(A_ROUND, 'first');
    inTurn(A_ROUND, 'second');
    clock.advance(ROUND_MS);
    expect(left.slice(A_ROUND)).toEqual([[A_ROUND, 'second']]);
  });

  test('leave at once where there is much, and what was held of the stream does not come after it', () => {
    const { left, inTurn, now, each, clock } = paced();
    each(A_ROUND);
    inTurn(A_ROUND, 'held');
    now(A_ROUND, 'now');
    expect(left.at(-1)).toEqual([A_ROUND, 'now']);
    clock.advance(WAITS_MS);
    expect(left).toHaveLength(A_ROUND + 1);
  });

  test('leave in time, and not all at once, however many they are', () => {
    const { left, each, clock } = paced();
    each(10_000);
    for (let passedMs = 0; passedMs < WAITS_MS; passedMs += ROUND_MS) {
      const before = left.length;
      clock.advance(ROUND_MS);
      expect(left.length - before).toBeLessThanOrEqual(Math.ceil((10_000 * ROUND_MS) / WAITS_MS));
    }
    expect(left).toHaveLength(10_000);
  });

  test('all leave at the end', () => {
    const { left, pace, each, clock } = paced();
    each(2 * A_ROUND);
    pace.end();
    expect(left).toHaveLength(2 * A_ROUND);
    clock.advance(WAITS_MS);
    expect(left).toHaveLength(2 * A_ROUND);
  });

  test('none waits for longer than it may, whatever comes, and the last of each stream is said', () => {
    const piece = fc.record({
      stream: fc.nat(3_000),
      much: fc.boolean(),
      afterMs: fc.oneof({ arbitrary: fc.constant(0), weight: 50 }, fc.nat(ROUND_MS)),
    });
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6_000, size: 'max' }), (pieces) => {
        const clock = new ManualClock();
        const pace = new AnswerPace<number>(clock);
        const owedSince = new Map<number, number>();
        const answered = (stream: number) => (): void => {
          const since = owedSince.get(stream);
          if (since === undefined) throw new Error(`stream ${stream} is answered twice`);
          expect(clock.monotonic() - since).toBeLessThanOrEqual(WAITS_MS);
          owedSince.delete(stream);
        };
        for (const { stream, much, afterMs } of pieces) {
          clock.advance(afterMs);
          if (!owedSince.has(stream)) owedSince.set(stream, clock.monotonic());
          if (much) pace.now(stream, answered(stream));
          else pace.inTurn(stream, answered(stream));
        }
        clock.advance(WAITS_MS);
        expect(owedSince).toEqual(new Map());
      }),
      { numRuns: 30 },
    );
  });
});
