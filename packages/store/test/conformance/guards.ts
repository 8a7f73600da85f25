import { absent, GuardFailed, guard, type Store, upsert, type Write } from '@muster/store';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { done, named } from './rows.js';
import { passing, type Suite } from './suite.js';

const COLUMNS = { name: 'text', holder: 'text', epoch: 'integer', expires_at: 'integer' } as const;
const put = upsert('leases', COLUMNS, ['name']);
const fits = guard('leases', { name: 'text', epoch: 'integer' }, ['name']);
const free = guard('leases', { name: 'text', holder: 'text' }, ['name']);
const missing = absent('leases', { name: 'text' });

const at = (name: string, epoch: number) => put({ name, holder: null, epoch, expires_at: 0 });
const expects = (name: string, epoch: number) => fits({ name, epoch });

const epochs = async (store: Store) => {
  const rows = await store.read.selectFrom('leases').select(['name', 'epoch']).orderBy('name').execute();
  return Object.fromEntries(rows.map(({ name, epoch }) => [name, epoch]));
};

/** How each call ended. */
const ends = async (calls: readonly Promise<void>[]) =>
  (await Promise.allSettled(calls)).map((result) => {
    if (result.status === 'fulfilled') return 'stored';
    return result.reason instanceof GuardFailed ? 'guarded' : String(result.reason);
  });

export function guardsSuite(suite: Suite): void {
  const { openStore, names, targets } = suite;
  describe('guards', () => {
    test('a part is stored whose guards hold', async () => {
      const store = await openStore();
      await store.commit([at('a', 1)]);
      await store.commit([expects('a', 1), missing({ name: 'b' }), free({ name: 'a', holder: null }), named('1', 'x')]);
      expect(await names(store)).toEqual(['x']);
    });

    test('nothing of a part is stored one of whose guards does not hold, and it is told which; others are unharmed', async () => {
      const store = await openStore();
      await store.commit([at('a', 2)]);
      const before = store.commit([named('1', 'before')]);
      const stale = store.commit([expects('a', 2), done('stale'), expects('a', 1), named('2', 'stale')]);
      const after = store.persist([expects('a', 2), named('3', 'after')]);
      const error = await stale.catch((reason: unknown) => reason);
      await Promise.all([before, after]);
      expect(error).toBeInstanceOf(GuardFailed);
      expect((error as GuardFailed).failed.map(({ row }) => row)).toEqual([{ name: 'a', epoch: 1 }]);
      expect(await names(store)).toEqual(['before', 'after']);
      expect(await targets(store)).toEqual([]);
      expect(store.health()).toEqual({ ok: true });
    });

    test('a transition whose guard does not hold is rejected, not retried, and the process goes on', async () => {
      const refused: unknown[] = [];
      const store = await openStore({ refused: (error) => refused.push(error) });
      await expect(store.persist([expects('a', 1), done('x')])).rejects.toBeInstanceOf(GuardFailed);
      expect(refused).toEqual([]);
    });

    test('parts with the same guard share one transaction', async () => {
      const store = await openStore();
      await store.commit([at('a', 1)]);
      await Promise.all(Array.from({ length: 500 }, (_, n) => store.persist([expects('a', 1), named(`${n}`, `${n}`)])));
      expect(suite.reports.slice(1)).toMatchObject([{ parts: 500, rows: 500 }]);
    });

    test('a part that asks for an empty text does not pass for one that asks for none', async () => {
      const store = await openStore();
      await store.commit([at('a', 1)]);
      const calls = ['', null, ''].map((holder) => store.commit([free({ name: 'a', holder }), done(`${holder}`)]));
      expect(await ends(calls)).toEqual(['guarded', 'stored', 'guarded']);
    });

    test('a part sees what was handed in before it, not what comes later', async () => {
      const store = await openStore();
      const calls = [
        store.commit([missing({ name: 'a' }), at('a', 1)]),
        store.commit([expects('a', 1), at('a', 2)]),
        store.commit([expects('a', 1), at('a', 3)]),
        store.commit([expects('a', 2), done('x')]),
        store.commit([at('a', 4)]),
      ];
      expect(await ends(calls)).toEqual(['stored', 'stored', 'guarded', 'stored', 'stored']);
      expect(await epochs(store)).toEqual({ a: 4 });
    });

    test('are looked at again after an outage', async () => {
      const store = await openStore();
      await store.commit([at('a', 1)]);
      await suite.harness.fail(store);
      const big = named('1', 'x'.repeat(100_000));
      const kept = store.persist([expects('a', 1), big]);
      const stale = store.persist([expects('a', 7), big]);
      const settled = ends([kept, stale]);
      await suite.harness.heal();
      expect(await passing(suite.clock, store, settled)).toEqual(['stored', 'guarded']);
    });

    test('whatever is handed in at once ends as if each part had been stored after the one before', async () => {
      const name = fc.constantFrom('a', 'b', 'c');
      const epoch = fc.nat(2);
      const step = fc.oneof(
        fc.record({ kind: fc.constant('guard' as const), name, epoch }),
        fc.record({ kind: fc.constant('absent' as const), name, epoch }),
        fc.record({ kind: fc.constant('put' as const), name, epoch }),
      );
      const part = fc.record({
        steps: fc.array(step, { minLength: 1, maxLength: 4 }),
        how: fc.constantFrom('commit' as const, 'persist' as const),
        /** Another turn of the event loop before the next one. */
        pause: fc.boolean(),
      });
      const store = await openStore({ limits: { batchRows: 7 } });
      await fc.assert(
        fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 15 }), async (parts) => {
          await store.transact((trx) => trx.deleteFrom('leases').execute());
          const calls: Promise<void>[] = [];
          const model = new Map<string, number>();
          const expected: string[] = [];
          for (const { steps, how, pause } of parts) {
            const call = store[how](steps.map(writeOf));
            // How it ends is looked at when all are handed in.
            call.catch(() => undefined);
            calls.push(call);
            const holds = steps.every((one) =>
              one.kind === 'put' ? true : model.get(one.name) === (one.kind === 'guard' ? one.epoch : undefined),
            );
            expected.push(holds ? 'stored' : 'guarded');
            if (holds) for (const one of steps) if (one.kind === 'put') model.set(one.name, one.epoch);
            if (pause) await new Promise(setImmediate);
          }
          expect(await ends(calls)).toEqual(expected);
          expect(await epochs(store)).toEqual(Object.fromEntries([...model].sort()));
        }),
        { numRuns: 40 },
      );
    });
  });
}

function writeOf(step: {
  readonly kind: 'guard' | 'absent' | 'put';
  readonly name: string;
  readonly epoch: number;
}): Write {
  switch (step.kind) {
    case 'guard':
      return expects(step.name, step.epoch);
    case 'absent':
      return missing({ name: step.name });
    case 'put':
      return at(step.name, step.epoch);
  }
}
