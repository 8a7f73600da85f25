import { absent, lastNumber, type Store } from '@muster/store';
import { describe, expect, test } from 'vitest';
import { done, large, named, numbered } from './rows.js';
import { passing, type Suite } from './suite.js';

const unknown = absent('organizations', { id: 'text' });

/** Numbers that rows are given in the transaction that stores them. */
export function numbersSuite(suite: Suite): void {
  const { openStore } = suite;
  const numbers = async (store: Store) => {
    const rows = store.read.selectFrom('organizations').select(['id', 'created_at']).where('created_at', '>', 0);
    return (await rows.orderBy('created_at').execute()).map((row) => [row.created_at, row.id]);
  };
  /** What was told, in that order. */
  const listening = () => {
    const told: [number: number, id: string][] = [];
    return { told, row: (id: string) => numbered(id, (number) => void told.push([number, id])) };
  };

  describe('numbers', () => {
    test('follow each other from 1 on, in the order in which rows are handed in, and are told in that order', async () => {
      const store = await openStore();
      const { told, row } = listening();
      await Promise.all([
        store.persist([row('a'), done('x'), row('b')]),
        store.commit([row('c')]),
        store.transact(async (_trx, write) => {
          write([row('d'), row('e')]);
          write([row('f')]);
        }),
        store.persist([row('g')]),
      ]);
      expect(told).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((id, index) => [index + 1, id]));
      expect(await numbers(store)).toEqual(told);
    });

    test('are told before whoever handed the rows in is', async () => {
      const store = await openStore();
      const { told, row } = listening();
      await store.persist([row('a')]);
      expect(told).toEqual([[1, 'a']]);
      await store.transact(async (_trx, write) => write([row('b')]));
      expect(told).toEqual([
        [1, 'a'],
        [2, 'b'],
      ]);
    });

    test('are not taken by what is not stored', async () => {
      const store = await openStore();
      const { told, row } = listening();
      await store.commit([named('0', 'taken')]);
      const ended = await Promise.allSettled([
        store.commit([row('a')]),
        store.commit([unknown({ id: '0' }), row('guarded')]),
        store.commit([row('refused'), named('1', 'taken')]),
        store.transact(async (_trx, write) => {
          write([row('thrown')]);
          throw new Error('no');
        }),
        store.transact(async (_trx, write) => write([unknown({ id: '0' }), row('guarded, too')])),
        store.commit([row('b')]),
      ]);
      expect(ended.map(({ status }) => status === 'fulfilled')).toEqual([true, false, false, false, false, true]);
      expect(told).toEqual([
        [1, 'a'],
        [2, 'b'],
      ]);
    });

    test('are never given again, also when the rows are gone and the store was opened again', async () => {
      const first = await openStore();
      expect(await lastNumber(first.read, 'organizations')).toBe(0);
      await first.commit([numbered('a'), numbered('b')]);
      await first.transact((trx) => trx.deleteFrom('organizations').execute());
      await first.close();
      const second = await openStore();
      expect(await lastNumber(second.read, 'organizations')).toBe(2);
      await second.commit([numbered('c')]);
      expect(await numbers(second)).toEqual([[3, 'c']]);
    });

    test('are given once to what waits out an outage', async () => {
      const store = await openStore();
      const { told, row } = listening();
      const { harness, clock } = suite;
      await harness.fail(store);
      const waiting = Promise.all([store.persist([row('a'), large(1)]), store.persist([row('b')])]);
      const refused = expect(store.commit([row('refused'), large(2)])).rejects.toMatchObject({
        code: 'store_unavailable',
      });
      await passing(clock, store, refused);
      await harness.heal();
      await passing(clock, store, waiting);
      expect(told).toEqual([
        [1, 'a'],
        [2, 'b'],
      ]);
      expect(await numbers(store)).toEqual(told);
    });

    test('of several stores on one database are unique, without gaps and in the order of the commits', async () => {
      const stores = [await openStore({ exclusive: false }), await openStore({ exclusive: false })] as const;
      const all = await Promise.all(
        stores.map(async (store, index) => {
          const { told, row } = listening();
          for (let round = 0; round < 40; round++) {
            const id = (kind: string) => `${index} ${round} ${kind}`;
            await Promise.all([
              store.commit([row(id('commit')), done('x')]),
              store.persist([row(id('persist')), row(id('another'))]),
              round % 4 > 0 ||
                store.transact(async (trx, write) => {
                  await trx.selectFrom('audit').select('id').limit(1).execute();
                  write([row(id('transact'))]);
                }),
            ]);
            // Whoever sees a number sees all before it.
            const seen = await numbers(store);
            expect(seen.map(([number]) => number)).toEqual(seen.map((_, index) => index + 1));
          }
          return told;
        }),
      );
      for (const told of all) expect(told).toEqual(told.toSorted(([a], [b]) => a - b));
      const told = all.flat().sort(([a], [b]) => a - b);
      expect(told).toEqual(await numbers(stores[0]));
      expect(told.length).toBe(2 * 130);
    });
  });
}
