import { type Clock, ManualClock } from '@muster/base';
import { decideLease, type Lease, type LeaseRow, Leases, openMemory, type Store } from '@muster/store';
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
  /** For how long whoever asks says to have seen it so. */
  unchangedMs: fc.nat(150),
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
        for (const { kind, holder: index, back, passes, unchangedMs } of steps) {
          time += passes;
          const holder = HOLDERS[index] ?? '';
          const now = time + (skews[index] ?? 0);
          const own = given[index] ?? [];
          const epoch = own.at(-1 - back) ?? 0;
          const before = row;
          const request = { holder, epoch, now, ttlMs: TTL_MS, unchangedMs };
          const answer = decideLease('thing', row, { kind, ...request });
          if (answer.kind === 'granted') row = answer.row;
          if (kind === 'acquire') {
            const foreign = (before?.holder ?? null) !== null && before?.holder !== holder && unchangedMs < TTL_MS;
            expect(answer.kind).toBe(foreign ? 'held' : 'granted');
            if (answer.kind !== 'granted') continue;
            own.push(answer.row.epoch);
            epochs.push(answer.row.epoch);
          } else {
            const latest = epoch === epochs.at(-1) && before?.holder === holder;
            expect(answer.kind).toBe(latest ? 'granted' : 'lost');
            expect(row?.epoch).toBe(before?.epoch);
            if (answer.kind === 'granted' && kind === 'renew') {
              expect(answer.row.expires_at).toBeGreaterThan(before?.expires_at ?? 0);
              expect(answer.row.expires_at).toBeGreaterThanOrEqual(now + TTL_MS);
            }
          }
        }
        expect(epochs).toEqual(epochs.map((_, index) => index + 1));
      },
    ),
    { numRuns: 500 },
  );
});

const act = fc.record({
  kind: fc.constantFrom(
    'acquire' as const,
    'acquire' as const,
    'acquire' as const,
    'renew' as const,
    'release' as const,
  ),
  holder: fc.nat(HOLDERS.length - 1),
  passes: fc.nat(60),
  /** From the question to the answer. */
  takes: fc.nat(60),
  /** It is stored, and whoever stored it is told that nobody knows. */
  doubtful: fc.boolean(),
  /** Where the clock of the holder is from then on. */
  skew: fc.integer({ min: -300, max: 300 }),
});

test('however far clocks are apart, and however they are set, no two act at the same time', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 60 }), async (acts) => {
      const time = new ManualClock();
      const skews = HOLDERS.map(() => 0);
      const shared = await openMemory(time, []);
      const processes = HOLDERS.map((holder, index) => {
        const clock: Clock = {
          now: () => time.now() + (skews[index] ?? 0),
          monotonic: () => time.monotonic(),
          after: (ms, work) => time.after(ms, work),
        };
        const pace = { takes: 0, doubtful: false };
        const store = shared.connect({ clock });
        const commit: Store['commit'] = async (writes, stored) => {
          time.standStill(pace.takes);
          await store.commit(writes, stored);
          if (pace.doubtful) throw new Error('nobody knows');
        };
        const leases = new Leases({ store: { ...store, commit }, clock, holder });
        return { holder, leases, pace, lease: null as Lease | null, store };
      });
      try {
        for (const { kind, holder: index, passes, takes, doubtful, skew } of acts) {
          time.standStill(passes);
          const process = processes[index];
          if (process === undefined) throw new Error('no such process');
          const { leases, pace, lease } = process;
          skews[index] = skew;
          Object.assign(pace, { takes, doubtful });
          try {
            if (kind === 'acquire') {
              const answer = await leases.acquire('thing', TTL_MS);
              if (answer.kind === 'acquired') process.lease = answer.lease;
            } else if (lease !== null) {
              if (kind === 'release') process.lease = null;
              if (kind === 'renew') process.lease = await leases.renew(lease, TTL_MS);
              else await leases.release(lease);
            }
          } catch (error) {
            expect(error).toEqual(new Error('nobody knows'));
          }
          const acting = processes.filter((one) => one.lease !== null && time.monotonic() < one.lease.actUntil);
          expect(acting.length).toBeLessThanOrEqual(1);
        }
      } finally {
        for (const { store } of processes) await store.close();
        shared.close();
      }
    }),
    { numRuns: 200 },
  );
});
