import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Durable } from '../../src/root/durable/machine.js';

const LIMITS = { prefetch: 4, deliveries: 3 };
const started = (...positions: readonly number[]): Durable => {
  const durable = new Durable(10, [], LIMITS);
  for (const position of positions) durable.delivered(position);
  return durable;
};

describe('what a durable subscription knows of its messages', () => {
  test('nothing is through but what was acknowledged or is not for it', () => {
    const durable = started(12, 15);
    expect(durable.progress()).toEqual({ through: 11, acknowledged: [] });
    durable.readTo(20);
    durable.ack(15, false);
    expect(durable.progress()).toEqual({ through: 11, acknowledged: [15] });
    durable.ack(12, false);
    expect(durable.progress()).toEqual({ through: 20, acknowledged: [] });
  });

  test('a cumulative acknowledgement is for everything before it, too', () => {
    const durable = started(12, 15, 17);
    durable.ack(15, true);
    expect(durable.progress()).toEqual({ through: 16, acknowledged: [] });
  });

  test('acknowledging what does not wait changes nothing', () => {
    const durable = started(12);
    durable.ack(11, false);
    durable.ack(13, false);
    durable.ack(12, false);
    durable.ack(12, false);
    expect(durable.progress()).toEqual({ through: 12, acknowledged: [] });
  });

  test('the prefetch counts what waits and what was acknowledged out of turn', () => {
    const durable = started(11, 12, 13, 14);
    expect(durable.full).toBe(true);
    durable.ack(13, false);
    expect(durable.full).toBe(true);
    durable.ack(11, false);
    expect(durable.full).toBe(false);
  });

  test('a refused message is delivered again as often as allowed, then given up', () => {
    const durable = started(11, 12);
    for (let time = 1; time < LIMITS.deliveries; time++) {
      expect(durable.nack(11, false)).toEqual([]);
      expect(durable.refused).toBe(11);
      durable.delivered(11);
      expect(durable.refused).toBeNull();
    }
    expect(durable.nack(11, false)).toEqual([11]);
    expect(durable.progress()).toEqual({ through: 11, acknowledged: [] });
  });

  test('a refused message that is acknowledged after all is not delivered again', () => {
    const durable = started(11);
    durable.nack(11, false);
    durable.ack(11, false);
    expect(durable.refused).toBeNull();
  });

  test('what did not reach the client is unread again, and what was settled stays so', () => {
    const durable = started(11, 12, 13, 14);
    durable.ack(13, false);
    durable.nack(14, false);
    expect(durable.takeBack(11)).toBe(11);
    expect(durable.refused).toBeNull();
    expect([12, 13, 14].map((position) => durable.wants(position))).toEqual([true, false, true]);
    expect(durable.progress()).toEqual({ through: 10, acknowledged: [13] });
    durable.ack(11, false);
    expect(durable.takeBack(5)).toBe(11);
    expect(durable.takeBack(20)).toBe(11);
  });

  test('after a restart what was acknowledged out of turn is not wanted again', () => {
    const durable = new Durable(10, [13], LIMITS);
    expect([11, 13].map((position) => durable.wants(position))).toEqual([true, false]);
    durable.delivered(11);
    durable.readTo(20);
    durable.ack(11, false);
    expect(durable.progress()).toEqual({ through: 20, acknowledged: [] });
  });

  test('whatever is done, a restart delivers exactly what was not acknowledged or given up', () => {
    const doing = fc.oneof(
      fc.record({ do: fc.constant('deliver' as const), at: fc.nat(30), cumulative: fc.boolean() }),
      fc.record({
        do: fc.constantFrom('ack' as const, 'nack' as const, 'take back' as const),
        at: fc.nat(30),
        cumulative: fc.boolean(),
      }),
    );
    fc.assert(
      fc.property(fc.array(doing, { maxLength: 60 }), (all) => {
        const durable = new Durable(0, [], LIMITS);
        const done = new Set<number>();
        const waiting = new Map<number, number>();
        let next = 1;
        for (const each of all) {
          const meant = [...waiting.keys()].filter((at) => at === each.at || (each.cumulative && at < each.at));
          if (each.do === 'deliver') {
            const again = durable.refused;
            if (again !== null) {
              waiting.set(again, (waiting.get(again) ?? 0) + 1);
              durable.delivered(again);
            } else if (!durable.full) {
              while (!durable.wants(next)) next += 1;
              waiting.set(next, 1);
              durable.delivered(next++);
            }
          } else if (each.do === 'ack') {
            durable.ack(each.at, each.cumulative);
            for (const at of meant) done.add(at);
          } else if (each.do === 'take back') {
            next = durable.takeBack(each.at) + 1;
            for (const at of waiting.keys()) if (at >= next) waiting.delete(at);
          } else {
            const givenUp = durable.nack(each.at, each.cumulative);
            expect(givenUp).toEqual(meant.filter((at) => waiting.get(at) === LIMITS.deliveries));
            for (const at of givenUp) done.add(at);
          }
          for (const at of done) waiting.delete(at);
          expect(waiting.size).toBeLessThanOrEqual(LIMITS.prefetch);
        }
        const { through, acknowledged } = durable.progress();
        const restarted = new Durable(through, acknowledged, LIMITS);
        for (let at = 1; at < next; at++) expect(at > through && restarted.wants(at)).toBe(!done.has(at));
        expect(acknowledged.length).toBeLessThanOrEqual(LIMITS.prefetch);
      }),
    );
  });
});
