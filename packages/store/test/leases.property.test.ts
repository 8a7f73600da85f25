import { decideLease, type LeaseRow } from '@muster/store';
import fc from 'fast-check';
import { expect, test } from 'vitest';

/**
 * Holders whose clocks differ ask for one lease, renew it and give it back in any order. Whatever they do: no epoch is
 * given twice, and of all who ever held it only the latest can change it.
 */
const HOLDERS = ['a', 'b', 'c'];
const TTL_MS = 100;

const step = fc.record({
  kind: fc.constantFrom('acquire' as const, 'acquire' as const, 'renew' as const, 'release' as const),
  holder: fc.nat(HOLDERS.length - 1),
  /** Of what this holder has been given: the latest, or an earlier one. */
  back: fc.nat(2),
  passes: fc.nat(150),
});

test('no epoch is given twice, and only the holder of the latest one can change the lease', () => {
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 60 }),
      fc.array(fc.integer({ min: -300, max: 300 }), { minLength: 3, maxLength: 3 }),
      (steps, skews) => {
        let row: LeaseRow | undefined;
        let time = 1_000;
        const epochs: number[] = [];
        const given = HOLDERS.map((): number[] => []);
        for (const { kind, holder: index, back, passes } of steps) {
          time += passes;
          const holder = HOLDERS[index] ?? '';
          const now = time + (skews[index] ?? 0);
          const own = given[index] ?? [];
          const epoch = own.at(-1 - back) ?? 0;
          const before = row;
          const answer = decideLease(
            'thing',
            row,
            kind === 'release' ? { kind, holder, epoch, now } : { kind, holder, epoch, now, ttlMs: TTL_MS },
          );
          if (answer.kind === 'granted') row = answer.row;
          if (kind === 'acquire') {
            const foreign = before?.holder !== null && before?.holder !== holder && (before?.expires_at ?? 0) > now;
            expect(answer.kind).toBe(foreign ? 'held' : 'granted');
            if (answer.kind !== 'granted') continue;
            own.push(answer.row.epoch);
            epochs.push(answer.row.epoch);
          } else {
            const latest = epoch === epochs.at(-1) && before?.holder === holder;
            expect(answer.kind).toBe(latest ? 'granted' : 'lost');
            expect(row?.epoch).toBe(before?.epoch);
            if (answer.kind === 'granted' && kind === 'renew') {
              expect(answer.row.expires_at).toBeGreaterThanOrEqual(Math.max(before?.expires_at ?? 0, now + TTL_MS));
            }
          }
        }
        expect(epochs).toEqual(epochs.map((_, index) => index + 1));
      },
    ),
    { numRuns: 500 },
  );
});
